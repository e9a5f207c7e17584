import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import Testing

/// The properties of an interaction that a hook can read and set.
@Suite(.timeLimit(.minutes(20)))
struct CassetteInteractionTests {
    @Test func hookReplacesTheResponse() async throws {
        let options = Cassette.Options.with { options in
            options.afterCapture = { interaction in
                interaction.response = Cassette.Interaction.Response(
                    status: .created,
                    headerFields: [.server: "test"],
                    body: Data("other".utf8)
                )
            }
        }
        try await withCassetteFolder { folder in
            try await folder.record(from: MockTransport { _ in .text("sent") }, options) { network in
                try await network.get("a", expecting: "sent")
            }
            try await folder.replay { network in
                let response = try await network.get("a", expecting: "other")
                #expect(response.status == .created)
                #expect(response.headerFields[.server] == "test")
            }
        }
    }

    @Test func missingBodyHasAReason() async throws {
        let seen = Mutex<[String?]>([])
        let options = Cassette.Options.with { options in
            options.maximumBodyBytes = 4
            options.afterCapture = { interaction in
                seen.withLock { $0.append(interaction.request.missingBody) }
                #expect(interaction.response.missingBody == nil)
                if interaction.request.missingBody != nil { #expect(interaction.request.body.isEmpty) }
            }
        }
        try await withCassetteFolder { folder in
            try await folder.record(from: MockTransport { _ in .text("ok") }, options) { network in
                for body in ["1234", "12345"] {
                    let request = HTTPRequestData(method: .put, path: body, body: .data(Data(body.utf8)))
                    try await network.data(request)
                }
            }
        }
        #expect(seen.withLock { $0 } == [nil, "not kept: 5 bytes, more than maximumBodyBytes"])
    }

    @Test func doesNotReplayAResponseWithoutItsBody() async throws {
        let options = Cassette.Options.with { options in
            options.afterCapture = { $0.response.missingBody = "not kept: it is a secret" }
        }
        try await withCassetteFolder { folder in
            try await folder.record(from: MockTransport { _ in .ok() }, options) { try await $0.get("a") }
            let reason = await CassetteFolder.reason {
                try await folder.replay { _ = try await $0.get("a") }
            }
            #expect(reason?.contains("not kept: it is a secret") == true)
        }
    }
}
