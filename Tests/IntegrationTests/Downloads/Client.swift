#if URLSession && AsyncHTTPClient
import Foundation
import Networking
import NetworkingAsyncHTTPClient

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The transports for which downloads must behave the same.
enum Client: String, CaseIterable, Sendable {
    case urlSession = "URLSession"
    case asyncHTTPClient = "AsyncHTTPClient"

    /// Returns a transport of this kind with its own connections, which accepts content codings.
    func makeTransport() -> any NetworkingComponent {
        switch self {
        case .urlSession:
            // On Linux it accepts only codings that the app requests.
            let configuration = URLSessionConfiguration.ephemeral
            configuration.httpAdditionalHeaders = ["Accept-Encoding": "gzip"]
            return URLSessionTransport(configuration: configuration)
        case .asyncHTTPClient:
            return AsyncHTTPClientTransport()
        }
    }
}
#endif
