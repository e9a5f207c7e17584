import Foundation
import HTTPTypes
import Networking
import NetworkingTestServer
import NetworkingTesting
import Testing
import ThirdParty

@Suite(.serialized, .timeLimit(.minutes(20)))
struct SocketTransportTests {
    /// The checks that the transport does not pass, and why.
    private static let exceptions: [String: String] = [
        "no TLS": "It speaks plain http only.",
        "codings in lists": "It decodes no content coding.",
        "several codings": "It decodes no content coding.",
        "decompression limits": "It decodes no content coding.",
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

    /// The transport ends the exchange itself, so `timeout` starts no task for it.
    @Test func closesItsSocketAtTheTimeLimit() async throws {
        let clock = ManualClock()
        try await withTestServer { server in
            server.enqueueConnections(.stall)
            let request = HTTPRequestData(url: server.url)
            #expect(SocketTransport().enforcesLimit(of: request))
            let network = SocketTransport().timeout(.seconds(5)).environment(\.clock, .manual(clock))
            async let response = network.data(request)
            try await clock.advance(by: .seconds(5), afterSleepers: 1)
            do {
                _ = try await response
                Issue.record("The call returned a response after its time limit.")
            } catch let error as NetworkingError {
                #expect(error.kind == .timeout)
            }
            try await server.waitForOpenConnections()
        }
    }

    @Test func leavesToTheStackTheLimitsThatASocketCannotEnforce() throws {
        var request = HTTPRequestData(method: .post, scheme: "http", authority: "127.0.0.1", body: .data(Data([1])))
        #expect(SocketTransport().enforcesLimit(of: request))
        request.sink = CollectingSink()
        #expect(!SocketTransport().enforcesLimit(of: request))
        let named = HTTPRequestData(scheme: "http", authority: "example.com")
        #expect(!SocketTransport().enforcesLimit(of: named))
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
