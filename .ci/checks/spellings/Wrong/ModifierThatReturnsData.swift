// error: Declare 'send(_: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData'.
import Foundation
import Networking

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

struct Branded: NetworkingModifier {
    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> Data {
        try await upstream.send(request).data
    }
}
