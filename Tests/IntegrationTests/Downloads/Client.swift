#if URLSession && AsyncHTTPClient
import Foundation
import Networking
import NetworkingAsyncHTTPClient

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The transports over which all that goes to a file has to be the same.
enum Client: String, CaseIterable, Sendable {
    case urlSession = "URLSession"
    case asyncHTTPClient = "AsyncHTTPClient"

    /// Returns a transport of this kind, with connections of its own, which accepts content codings.
    func makeTransport() -> any NetworkingComponent {
        switch self {
        case .urlSession:
            // On Linux it accepts only what the app asks for.
            let configuration = URLSessionConfiguration.ephemeral
            configuration.httpAdditionalHeaders = ["Accept-Encoding": "gzip"]
            return URLSessionTransport(configuration: configuration)
        case .asyncHTTPClient:
            return AsyncHTTPClientTransport()
        }
    }
}
#endif
