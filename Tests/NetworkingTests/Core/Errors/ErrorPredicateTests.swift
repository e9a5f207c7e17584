import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

/// Properties that apps use to distinguish errors.
@Suite(.timeLimit(.minutes(20)))
struct ErrorPredicateTests {
    private let request = HTTPRequestData(authority: "example.com", path: "users/42")

    private func error(_ kind: NetworkingError.Kind, status: Int? = nil) -> NetworkingError {
        let response = status.map { HTTPResponseData(request: request, status: .init(code: $0)) }
        return NetworkingError(kind, request: request, response: response)
    }

    // MARK: Statuses

    @Test(arguments: [401, 404, 503])
    func statusIsReachableInTheSameWayForEachCode(code: Int) async {
        let transport = MockTransport { _ in .status(.init(code: code)) }
        let error = await #expect(throws: NetworkingError.self) { try await transport.request(request, as: Data.self) }
        #expect(error?.status?.code == code)
        #expect(error?.kind == (code == 401 ? .unauthorized : .status))
    }

    @Test func errorWithoutAResponseHasNoStatus() {
        #expect(error(.offline).status == nil)
        #expect(error(.unauthorized).status == nil && error(.unauthorized).isUnauthorized)
    }

    @Test func classifiesStatuses() {
        #expect(error(.status, status: 403).isForbidden)
        #expect(error(.status, status: 404).isNotFound)
        #expect(!error(.status, status: 410).isNotFound)
        #expect(error(.status, status: 429).isRateLimited)
        #expect(!error(.rejected).isRateLimited)
        for code in [400, 401, 404, 499] {
            #expect(error(.status, status: code).isClientError && !error(.status, status: code).isServerError)
        }
        for code in [500, 503, 599] {
            #expect(error(.status, status: code).isServerError && !error(.status, status: code).isClientError)
        }
        #expect(!error(.offline).isClientError && !error(.offline).isServerError)
        #expect(!error(.status, status: 600).isServerError && !error(.status, status: 399).isClientError)
    }

    // MARK: Kinds

    @Test(arguments: NetworkingError.Kind.allCases)
    func classifiesKinds(kind: NetworkingError.Kind) {
        let transient: [NetworkingError.Kind] = [
            .offline, .nameResolution, .connection, .connectionLost, .timeout, .truncated,
        ]
        #expect(error(kind).isTransient == transient.contains(kind))
        let connection: [NetworkingError.Kind] = [.offline, .nameResolution, .connection, .tls, .connectionLost]
        #expect(error(kind).isConnectionFailure == connection.contains(kind))
    }

    @Test(arguments: [
        (408, true), (425, true), (429, true), (500, true), (502, true), (503, true), (504, true), (400, false),
        (401, false), (404, false), (409, false), (501, false), (505, false), (599, false),
    ])
    func someStatusesAreTransient(code: Int, isTransient: Bool) {
        #expect(error(.status, status: code).isTransient == isTransient)
        #expect(!error(.decoding, status: code).isTransient)
    }

    // MARK: Any error

    private struct Other: Error {}

    @Test func cancellationIsRecognised() {
        let cancellation: any Error = CancellationError()
        #expect(cancellation.isCancelled && CancellationError().isCancelled)
        #expect(!error(.timeout).isCancelled && !Other().isCancelled)
    }

    @Test func cancelledURLErrorIsRecognisedOnApplePlatforms() {
        let cancelled: any Error = URLError(.cancelled)
        #if canImport(Darwin)
        #expect(cancelled.isCancelled)
        #else
        #expect(!cancelled.isCancelled)
        #endif
        #expect(!(URLError(.timedOut) as any Error).isCancelled)
    }

    @Test func libraryErrorIsFoundInAnyError() {
        let offline: any Error = error(.offline)
        #expect(offline.networkingError?.kind == .offline)
        #expect(Other().networkingError == nil)
        #expect((CancellationError() as any Error).networkingError == nil)
    }
}
