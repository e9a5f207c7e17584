// error: Declare 'func retry(_ request: HTTPRequestData, dueTo attempt: Attempt) async throws -> RetryDecision'.
import Foundation
import Networking

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

struct Authorization: RequestInterceptor {
    func retry(_ request: HTTPRequestData, dueTo error: any Error) async throws -> RetryDecision { .retry }
}
