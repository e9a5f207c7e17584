import Foundation
import HTTPTypes
import Networking
import Testing

@testable import NetworkingAuthentication
@testable import NetworkingCaching
@testable import NetworkingConnectivity
@testable import NetworkingResilience
@testable import NetworkingTraffic

/// What each part of a stack decides about each kind of error: all of them decide by its meaning.
@Suite
struct ErrorMeaningTests {
    /// The answers of the parts of a stack to an error without a response.
    struct Answers: Hashable, CustomStringConvertible {
        var isTransient = false
        var isConnectionFailure = false
        var isRetried = false
        var wasNeverSent = false
        var mayHaveChangedSomething = false
        var isAnsweredByAStaleEntry = false
        var countsAsRefusedRefresh = false
        var outbox = "transient"

        var description: String {
            Mirror(reflecting: self).children.map { "\($0.label ?? ""): \($0.value)" }.joined(separator: ", ")
        }
    }

    private static let request = HTTPRequestData(authority: "example.com", path: "users/42")

    private static let kinds: [NetworkingError.Meaning: Set<NetworkingError.Kind>] = [
        .invalid: [.invalidRequest, .unencodableBody, .bodyNotReplayable, .unimplemented],
        .rejected: [.rejected],
        .unreachable: [.offline, .nameResolution, .connection],
        .untrusted: [.tls],
        .interrupted: [.connectionLost, .timeout, .truncated],
        .expired: [.deadline],
        .answered: [.status, .unauthorized],
        .unusable: [
            .invalidResponse, .tooLarge, .representationChanged, .checksumMismatch, .tooManyRedirects, .decoding,
        ],
        .storage: [.storage],
    ]

    private static let answers: [NetworkingError.Meaning: Answers] = [
        .invalid: Answers(outbox: "refused"),
        .rejected: Answers(),
        .unreachable: Answers(
            isTransient: true,
            isConnectionFailure: true,
            isRetried: true,
            wasNeverSent: true,
            isAnsweredByAStaleEntry: true
        ),
        .untrusted: Answers(isConnectionFailure: true),
        .interrupted: Answers(
            isTransient: true,
            isRetried: true,
            mayHaveChangedSomething: true,
            isAnsweredByAStaleEntry: true
        ),
        .expired: Answers(mayHaveChangedSomething: true),
        .answered: Answers(mayHaveChangedSomething: true, countsAsRefusedRefresh: true),
        .unusable: Answers(mayHaveChangedSomething: true, countsAsRefusedRefresh: true),
        .storage: Answers(mayHaveChangedSomething: true, outbox: "refused"),
    ]

    private func answers(_ kind: NetworkingError.Kind) -> Answers {
        let error = NetworkingError(kind, request: Self.request)
        let attempt = Attempt(number: 1, result: .failure(error), elapsed: .zero, backoff: nil)
        let outcome: String =
            switch OutboxOutcome(error, about: nil, now: .now) {
            case .delivered: "delivered"
            case .transient: "transient"
            case .offline: "offline"
            case .ofAnotherUser: "of another user"
            case .refused: "refused"
            }
        return Answers(
            isTransient: error.isTransient,
            isConnectionFailure: error.isConnectionFailure,
            isRetried: RetryPolicy.exponential().isTransient(error),
            wasNeverSent: attempt.showsThatNothingWasSent,
            mayHaveChangedSomething: error.mayHaveChangedSomething(at: nil),
            isAnsweredByAStaleEntry: Result.failure(error).failsUnreachable(for: Self.request) == true,
            countsAsRefusedRefresh: error.countsAsRefusal,
            outbox: outcome
        )
    }

    @Test(arguments: NetworkingError.Meaning.allCases)
    func kindsWithOneMeaningAreTreatedAlike(meaning: NetworkingError.Meaning) throws {
        let kinds = try #require(Self.kinds[meaning])
        #expect(kinds == Set(NetworkingError.Kind.allCases.filter { $0.meaning == meaning }))
        for kind in kinds {
            var expected = try #require(Self.answers[meaning])
            // The outbox waits for the network without counting the attempt.
            if kind == .offline { expected.outbox = "offline" }
            // The connection was lost, and a limit or a short body say nothing about it.
            if kind == .connectionLost { expected.isConnectionFailure = true }
            #expect(answers(kind) == expected, "\(kind)")
        }
    }

    /// A status that reports an outage is one, whether or not the rest of the response can be used.
    @Test(arguments: [NetworkingError.Kind.status, .tooLarge, .invalidResponse, .decoding])
    func statusDecidesWhetherAStaleEntryAnswers(kind: NetworkingError.Kind) {
        for (code, expected) in [(503, false), (404, nil)] as [(Int, Bool?)] {
            let response = HTTPResponseData(request: Self.request, status: .init(code: code))
            let error = NetworkingError(kind, request: Self.request, response: response)
            #expect(Result.failure(error).failsUnreachable(for: Self.request) == expected, "\(code)")
        }
    }
}
