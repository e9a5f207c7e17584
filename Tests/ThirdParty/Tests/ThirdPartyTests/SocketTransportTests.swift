import Foundation
import HTTPTypes
import Networking
import NetworkingTestServer
import NetworkingTesting
import Testing
import ThirdParty

@Suite(.serialized, .timeLimit(.minutes(5)))
struct SocketTransportTests {
    /// The checks that the transport does not pass, and why.
    private static let exceptions: [String: String] = [
        "no TLS": "It speaks plain http only.",
        "connection reuse": "Each request has a connection of its own.",
        "interleaved echo": "It sends the whole request before it reads the response.",
        "early response": "It sends the whole request before it reads the response.",
    ]

    @Test(arguments: TransportCheck.all.filter { exceptions[$0.name] == nil })
    func conforms(check: TransportCheck) async throws {
        try await check.run(on: SocketTransport())
    }

    @Test func keepsTheLaws() async throws {
        try await withTestServer { server in
            server.route("/") { _ in .text("hello") }
            try await checkLaws(of: SocketTransport(), sending: HTTPRequestData(url: server.url))
        }
    }

    /// The outermost part of the stack does not offer the head again to a sink that has refused the body.
    @Test(arguments: [SinkDecision.take, .collect(upTo: 100), .refuse])
    func sinkIsOfferedTheHeadOnce(decision: SinkDecision) async throws {
        try await withTestServer { server in
            server.route("/") { _ in TestResponse(body: .chunks(["one", "two"])) }
            let sink = CollectingSink { _ in decision }
            var request = HTTPRequestData(url: server.url)
            request.sink = sink
            try await SocketTransport().retry().timeout(.seconds(10)).data(request)
            #expect(sink.heads.map(\.status) == [.ok])
            #expect(sink.finished == (decision == .take ? 1 : 0))
        }
    }

    /// The transport ends a silent exchange itself only if no modifier of the stack does.
    @Test func stackLimitsTheSilenceIfItHasATimeout() async throws {
        struct Seen: NetworkingTransport {
            let journal: Journal

            func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
                journal.note("\(request.isSilenceLimited) \(request.allowedSilence.components.seconds)")
                return HTTPResponseData(request: request)
            }
        }
        let journal = Journal()
        try await Seen(journal: journal).data(.lawful)
        try await Seen(journal: journal).timeout(head: .seconds(90)).data(.lawful)
        try await Seen(journal: journal).timeout(.seconds(5)).data(.lawful)
        #expect(journal.entries == ["false 60", "false 90", "true 60"])
    }
}
