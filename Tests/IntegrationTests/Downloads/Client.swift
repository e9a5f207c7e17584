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

    /// A transport of this kind, with connections of its own.
    func makeTransport() -> any NetworkingComponent {
        switch self {
        case .urlSession: URLSessionTransport(configuration: .ephemeral)
        case .asyncHTTPClient: AsyncHTTPClientTransport()
        }
    }
}
#endif
