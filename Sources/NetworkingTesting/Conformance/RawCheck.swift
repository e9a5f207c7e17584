#if TestServer
import HTTPTypes
import Networking
import NetworkingTestServer

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What must become of an answer in bytes: a response, or a failure; where both are given, either.
struct RawOutcome: Sendable {
    private var response: (code: Int, body: String, fields: HTTPFields)?
    private var kinds: [NetworkingError.Kind] = []

    static func brings(_ code: Int, _ body: String, _ fields: HTTPFields = [:]) -> RawOutcome {
        var outcome = RawOutcome()
        outcome.response = (code, body, fields)
        return outcome
    }

    static func fails(_ kinds: NetworkingError.Kind...) -> RawOutcome {
        var outcome = RawOutcome()
        outcome.kinds = kinds
        return outcome
    }

    func orFails(_ kinds: NetworkingError.Kind...) -> RawOutcome {
        var outcome = self
        outcome.kinds += kinds
        return outcome
    }

    /// Sends a request and compares what becomes of it.
    func check(on bench: CheckBench) async throws {
        guard let (code, body, fields) = response else {
            try await bench.fail(with: kinds, sending: HTTPRequestData(), over: nil)
            return
        }
        do {
            let came = try await bench.fetch()
            try expect(came.status.code, is: code, in: "the status")
            try expect(came.text, is: body, in: "the body")
            for field in fields {
                let value = came.headerFields[field.name]
                try expect(value ?? "(none)", is: field.value, in: "the field \(field.name)")
            }
        } catch let error as NetworkingError where kinds.contains(error.kind) {
        }
    }
}

extension TransportCheck {
    /// Answers a request with bytes, and then another as it should be: what went wrong before must not show there.
    static func raw(_ name: String, _ steps: TestResponse.RawStep..., gives outcome: RawOutcome) -> TransportCheck {
        raw(name, [steps], gives: outcome)
    }

    /// Answers a request with each of several answers in bytes, which must come to the same.
    static func raw(_ name: String, _ answers: [[TestResponse.RawStep]], gives outcome: RawOutcome) -> TransportCheck {
        TransportCheck(name) { bench in
            // A client may send again by itself what breaks on a connection that it kept, so it gets none to keep.
            bench.server.route("/next") { _ in
                TestResponse(headerFields: [.connection: "close"], body: .data(Data("next".utf8)))
            }
            for answer in answers {
                bench.server.enqueue(.raw(answer))
                try await outcome.check(on: bench)
                let next = try await bench.fetch(HTTPRequestData(path: "next"))
                try expect(next.text, is: "next", in: "the next response")
            }
        }
    }

    /// Answers a request with a head that has this line in it, and a body of two bytes.
    static func field(_ name: String, _ line: String, gives outcome: RawOutcome) -> TransportCheck {
        raw(name, .text("HTTP/1.1 200 OK\r\n\(line)\r\nContent-Length: 2\r\n\r\nok"), gives: outcome)
    }
}

extension TestResponse {
    /// What ``raw(_:)-swift.type.method`` makes, of a list.
    static func raw(_ steps: [RawStep]) -> TestResponse {
        TestResponse(body: .raw(steps))
    }
}

extension HTTPField.Name {
    // Valid names, so there are values. A request has its host elsewhere, but a server sees the field.
    static let xA = HTTPField.Name("X-A")!
    static let hostField = HTTPField.Name("Host")!
}
#endif
