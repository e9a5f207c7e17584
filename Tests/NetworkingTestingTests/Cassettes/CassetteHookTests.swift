import Foundation
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

/// The hooks of a cassette, and the laws of modifiers.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct CassetteHookTests {
    @Test func afterCaptureChangesTheRecordingAndNotTheResponse() async throws {
        let options = Cassette.Options.with { options in
            options.afterCapture = { interaction in
                #expect(interaction.request.headerFields[.authorization] == "Bearer secret")
                interaction.isDiscarded = interaction.request.url.hasSuffix("/discarded")
                interaction.response.body = Data("kept".utf8)
                interaction.response.headerFields[.server] = nil
            }
        }
        try await withCassetteFolder { folder in
            let transport = MockTransport { _ in .ok(Data("sent".utf8), headerFields: [.server: "x"]) }
            try await withCassette(at: folder.cassette, mode: .once, options: options) { cassette in
                let network = transport.cassette(cassette).server(authority: "api.example")
                    .server(headerField: .authorization, "Bearer secret")
                try await network.get("a", expecting: "sent")
                try await network.get("discarded", expecting: "sent")
            }
            try await folder.replay { network in
                let response = try await network.get("a", expecting: "kept")
                #expect(response.headerFields[.server] == nil)
            }
            #expect(!folder.text.contains("discarded"))
        }
    }

    @Test func beforeSaveRunsAfterRedactionAndIsFinal() async throws {
        let options = Cassette.Options.with { options in
            options.beforeSave = { interaction in
                #expect(interaction.response.body == Data(#"{"token":"<redacted>"}"#.utf8))
                interaction.response.body = Data(#"{"token":"a fake one"}"#.utf8)
                interaction.date = Date(timeIntervalSince1970: 0)
            }
        }
        try await withCassetteFolder { folder in
            let response = MockResponse.json(["token": "real"])
            try await folder.record(from: MockTransport([response]), options) { network in
                try await network.get("a", expecting: #"{"token":"real"}"#)
            }
            #expect(folder.text.contains("1970-01-01T00:00:00.000Z"))
            let first = folder.text
            try await folder.record(from: MockTransport([response]), mode: .all, options) { try await $0.get("a") }
            #expect(folder.text == first)
            // Values set by the hook stay when the file is written again.
            try await folder.record(from: MockTransport([.ok()]), mode: .newEpisodes) { network in
                try await network.get("a", expecting: #"{"token":"a fake one"}"#)
                try await network.get("b")
            }
            #expect(folder.text.contains("a fake one"))
        }
    }

    @Test func beforeSaveSeesEachInteractionOnce() async throws {
        let seen = Mutex<[String]>([])
        let options = Cassette.Options.with { options in
            options.beforeSave = { interaction in
                interaction.response.headerFields[.eTag] = seen.withLock { seen in
                    seen.append(interaction.request.url)
                    return "\(seen.count)"
                }
                interaction.isDiscarded = interaction.request.url.hasSuffix("b")
            }
        }
        try await withCassetteFolder { folder in
            try await withCassette(at: folder.cassette, mode: .once, options: options) { cassette in
                let network = MockTransport { _ in .ok() }.cassette(cassette).server(authority: "api.example")
                try await network.get("a")
                try await network.get("b")
                for _ in 0..<2 { #expect(cassette.interactions.map { $0.response.headerFields[.eTag] } == ["1"]) }
            }
            #expect(seen.withLock { $0 } == ["https://api.example/a", "https://api.example/b"])
            #expect(
                try Cassette(at: folder.cassette, mode: .none).interactions.first?.response.headerFields[.eTag] == "1"
            )
        }
    }

    @Test func beforeReplayChangesTheResponse() async throws {
        let options = Cassette.Options.with { options in
            options.beforeReplay = { $0.response.headerFields[.date] = "now" }
        }
        try await withCassetteFolder { folder in
            try await folder.record(from: MockTransport([.ok()]), options) { network in
                let response = try await network.get("a")
                #expect(response.headerFields[.date] == nil)
            }
            let before = folder.text
            try await folder.replay(mode: .newEpisodes, options) { network in
                let response = try await network.get("a")
                #expect(response.headerFields[.date] == "now")
            }
            #expect(folder.text == before)
        }
    }

    // MARK: Laws

    @Test func recordingKeepsTheLaws() async throws {
        try await withCassetteFolder { folder in
            try await withCassette(at: folder.cassette, mode: .all) { cassette in
                try await checkLaws { AnyNetworkingComponent($0.cassette(cassette)) }
            }
        }
    }

    @Test func passingKeepsTheLaws() async throws {
        try await withCassetteFolder { folder in
            let options = Cassette.Options.with { $0.passing = { _ in true } }
            try await withCassette(at: folder.cassette, mode: .all, options: options) { cassette in
                try await checkLaws { AnyNetworkingComponent($0.cassette(cassette)) }
            }
        }
    }

    /// A replay sends nothing, so it cannot follow the laws about the request sent upstream.
    @Test func replayKeepsTheLawsExceptThoseAboutUpstream() async throws {
        try await withCassetteFolder { folder in
            try await withCassette(at: folder.cassette, mode: .once) { cassette in
                let transport = MockTransport([.ok(Data("for the sink".utf8))])
                _ = try await transport.cassette(cassette).data(.lawful)
            }
            let options = Cassette.Options.with { $0.allowsRepeats = true }
            try await withCassette(at: folder.cassette, mode: .none, options: options) { cassette in
                let reason = "a replay sends nothing"
                let exceptions: [Law: String] = [
                    .oneSend: reason, .errors: reason, .cancellation: reason, .failedSinks: reason,
                    .concurrency: reason,
                ]
                try await checkLaws(except: exceptions) { AnyNetworkingComponent($0.cassette(cassette)) }
            }
        }
    }

    @Test func outlineNamesTheMode() async throws {
        try await withCassetteFolder { folder in
            let cassette = try Cassette(at: folder.cassette, mode: .once)
            #expect("\(MockTransport().cassette(cassette).outline)".contains("cassette(.once)"))
        }
    }
}
