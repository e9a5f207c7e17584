// Foundation as Apple's platforms have it, made of Linux's two modules, and of what those lack and this library uses.

@_exported import Foundation
@_exported import FoundationNetworking
