#if URLSession
// `URLSession.shared.logged()` must need only `import Networking`, on Linux too, where URLSession has its own module.
#if canImport(FoundationNetworking)
@_exported public import FoundationNetworking
#else
@_exported public import Foundation
#endif
#endif
