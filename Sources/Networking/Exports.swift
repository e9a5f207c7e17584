// `import Networking` is enough for an app. It includes every part of the library that needs no product.
@_exported public import NetworkingAuthentication
@_exported public import NetworkingBackgroundTransfers
@_exported public import NetworkingCaching
@_exported public import NetworkingCalls
@_exported public import NetworkingConnectivity
@_exported public import NetworkingCookies
@_exported public import NetworkingCore
@_exported public import NetworkingMocking
@_exported public import NetworkingObservability
@_exported public import NetworkingResilience
@_exported public import NetworkingTraffic
@_exported public import NetworkingTransfers
@_exported public import NetworkingTrust
@_exported public import NetworkingURLSession
