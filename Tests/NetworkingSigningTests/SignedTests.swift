import Networking
import NetworkingSigning
import Testing
