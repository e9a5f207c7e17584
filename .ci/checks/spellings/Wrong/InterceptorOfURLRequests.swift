// error: Declare 'func adapt(_ request: HTTPRequestData) async throws -> HTTPRequestData'.
import Foundation
import Networking

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

struct Authorization: RequestInterceptor {
    func adapt(_ request: URLRequest) async throws -> URLRequest { request }
}
