import Foundation
import HTTPTypes
import Logging
import Networking
import NetworkingTesting
import TestSupport
import Testing

/// Errors of the app that `checkedStatusCode(as:)` throws in place of a response.
@Suite(.timeLimit(.minutes(20)))
struct AppErrorTests {
    private struct Problem: Error, Decodable {
        let message: String
    }

    private enum Part: CaseIterable {
        case checked, logged, instrumented, retried
    }

    private static let orders: [[Part]] = permutations(of: Part.allCases)

    private static func permutations(of parts: [Part]) -> [[Part]] {
        guard let first = parts.first else { return [[]] }
        return permutations(of: Array(parts.dropFirst()))
            .flatMap { rest in
                (0...rest.count).map { Array(rest[..<$0]) + [first] + Array(rest[$0...]) }
            }
    }

    private let log = LogRecorder()
    private let instrument = SessionInstrument()

    private func network(_ order: [Part], detail: LogDetail = .body()) -> AnyNetworkingComponent {
        let transport = MockTransport { _ in
            MockResponse.json(text: #"{"message": "too long", "password": "secret"}"#, status: .unprocessableContent)
        }
        return order.reduce(AnyNetworkingComponent(transport)) { network, part in
            switch part {
            case .checked: AnyNetworkingComponent(network.checkedStatusCode(as: Problem.self))
            case .logged: AnyNetworkingComponent(network.logged(using: log.logger(), detail: detail))
            case .instrumented: AnyNetworkingComponent(network.instrument(instrument))
            case .retried: AnyNetworkingComponent(network.retry(.immediate(maximumRetries: 1)))
            }
        }
    }

    @Test(arguments: orders)
    private func refusalIsLoggedAndCounted(order: [Part]) async throws {
        let error = await #expect(throws: Problem.self) { try await network(order).data(.lawful) }
        #expect(error?.message == "too long")

        let line = try #require(log.lines.last)
        #expect(line.message.contains("422 Unprocessable"))
        #expect(line.metadata["body"] == #"{"message":"too long","password":"<redacted>"}"#)
        #expect(line.metadata["headers"].map { "\($0)".contains("application/json") } == true)
        #expect(instrument.statistics.statuses == [422: 1])
        #expect(instrument.recent.map(\.statusCode) == [422])
    }

    @Test func failureShowsStatusAndType() async throws {
        await #expect(throws: Problem.self) { try await network([.checked, .logged], detail: .basic).data(.lawful) }
        let line = try #require(log.lines.last)
        #expect(line.level == .warning)
        #expect(line.message.contains(" ms: 422 Unprocessable Content, Problem"))
        #expect(line.metadata["body"] == nil && line.metadata["headers"] == nil)
    }

    /// A stack whose log shows only warnings looks for the response when the request has failed.
    @Test func refusalIsLoggedAtTheLevelOfWarningsToo() async throws {
        let transport = MockTransport { _ in MockResponse.json(text: #"{"message": "no"}"#, status: .conflict) }
        let network = transport.checkedStatusCode(as: Problem.self)
            .logged(using: log.logger(.warning), detail: .body())
        await #expect(throws: Problem.self) { try await network.data(.lawful) }
        #expect(log.lines.count == 1)
        #expect(log.lines.first?.message.contains("409 Conflict, Problem") == true)
        #expect(log.lines.first?.metadata["body"] == #"{"message":"no"}"#)
    }

    @Test func statusOfALibraryErrorIsCountedAndItsBodyLogged() async throws {
        let transport = MockTransport { _ in
            MockResponse(
                status: .serviceUnavailable,
                data: Data("busy".utf8),
                headerFields: [.contentType: "text/plain"]
            )
        }
        let network = transport.checkedStatusCode().logged(using: log.logger(), detail: .body()).instrument(instrument)
        await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        #expect(log.lines.last?.metadata["body"] == "busy")
        #expect(instrument.statistics.statuses == [503: 1])
        #expect(instrument.statistics.failures == [.status: 1])
    }
}
