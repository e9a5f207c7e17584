#if URLSession
// `import Networking` is all that `URLSession.shared.logged()` needs, on Linux too, where URLSession has a module of
// its own.
#if canImport(FoundationNetworking)
@_exported public import FoundationNetworking
#else
@_exported public import Foundation
#endif
#endif
