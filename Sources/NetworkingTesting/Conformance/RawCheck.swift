#if TestServer
import FoundationForNetworking
import HTTPTypes
import NetworkingTestServer
import NetworkingCore

/// The required outcome for a response in raw bytes: a response, a failure, or either of them.
struct RawOutcome: Sendable {
    private var response: (code: Int, body: String, fields: HTTPFields)?
    private var kinds: [NetworkingError.Kind] = []

    static func returns(_ code: Int, _ body: String, _ fields: HTTPFields = [:]) -> RawOutcome {
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

    /// Sends a request and checks its outcome.
    func check(on bench: CheckBench) async throws {
        guard let (code, body, fields) = response else {
            try await bench.fail(with: kinds, sending: HTTPRequestData(), over: nil)
            return
        }
        do {
            let received = try await bench.fetch()
            try expect(received.status.code, is: code, in: "the status")
            try expect(received.text, is: body, in: "the body")
            for field in fields {
                let value = received.headerFields[field.name]
                try expect(value ?? "(none)", is: field.value, in: "the field \(field.name)")
            }
        } catch let error as NetworkingError where kinds.contains(error.kind) {
        }
    }
}

extension TransportCheck {
    /// Responds to a request with raw bytes; a second request must then get its correct response.
    static func raw(_ name: String, _ steps: TestResponse.RawStep..., gives outcome: RawOutcome) -> TransportCheck {
        raw(name, [steps], gives: outcome)
    }

    /// Responds with several sequences of raw bytes, one per request; each must lead to the same outcome.
    static func raw(_ name: String, _ responses: [[TestResponse.RawStep]], gives outcome: RawOutcome) -> TransportCheck
    {
        TransportCheck(name) { bench in
            // A client may resend a request if a kept connection breaks, so no connection is kept here.
            bench.server.route("/next") { _ in
                TestResponse(headerFields: [.connection: "close"], body: .data(Data("next".utf8)))
            }
            for response in responses {
                bench.server.enqueue(.raw(response))
                try await outcome.check(on: bench)
                let next = try await bench.fetch(HTTPRequestData(path: "next"))
                try expect(next.text, is: "next", in: "the next response")
            }
        }
    }

    /// Responds with a head that contains this line, and with a body of two bytes.
    static func field(_ name: String, _ line: String, gives outcome: RawOutcome) -> TransportCheck {
        raw(name, .text("HTTP/1.1 200 OK\r\n\(line)\r\nContent-Length: 2\r\n\r\nok"), gives: outcome)
    }
}

extension TestResponse {
    /// Creates a response like ``raw(_:)-swift.type.method``, from an array of steps.
    static func raw(_ steps: [RawStep]) -> TestResponse {
        TestResponse(body: .raw(steps))
    }
}

extension HTTPField.Name {
    // The names are valid, so they are not nil. A request stores its host elsewhere, but a server receives the field.
    static let xA = HTTPField.Name("X-A")!
    static let hostField = HTTPField.Name("Host")!
}
#endif
