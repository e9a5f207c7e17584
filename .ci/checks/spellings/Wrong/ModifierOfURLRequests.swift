// error: Declare 'send(_: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData'.
import Foundation
import Networking

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

struct Branded: NetworkingModifier {
    func send(_ request: URLRequest, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        try await upstream.send(HTTPRequestData())
    }
}
