import Networking
import NetworkingOAuth
import Testing
