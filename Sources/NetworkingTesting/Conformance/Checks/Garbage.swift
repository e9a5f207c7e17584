#if TestServer
import FoundationForNetworking
import NetworkingTestServer
import NetworkingCore

extension TransportCheck {
    /// Random and damaged bytes.
    static let garbage: [TransportCheck] = [
        TransportCheck("random bytes") { bench in
            // A client may resend a request if a kept connection breaks, so no connection is kept here.
            bench.server.route("/next") { _ in
                TestResponse(headerFields: [.connection: "close"], body: .data(Data("next".utf8)))
            }
            var random = SeededGenerator(seed: 1)
            for _ in 0..<100 {
                let bytes = Data(
                    (0..<Int.random(in: 1...3_000, using: &random)).map { _ in .random(in: 0...255, using: &random) }
                )
                bench.server.enqueue(.raw(.bytes(bytes)))
                do {
                    throw ConformanceFailure("a failure", found: describe(try await bench.fetch()))
                } catch is NetworkingError {
                }
                let next = try await bench.fetch(HTTPRequestData(path: "next"))
                try expect(next.text, is: "next", in: "the next response")
            }
        },
        // A damaged response may still be valid, but must not cause a crash or an endless wait.
        TransportCheck("damaged responses") { bench in
            bench.server.route("/next") { _ in .text("next") }
            let heads = [
                "Content-Length: 20\r\nX-A: b\r\n\r\n12345678901234567890",
                "Transfer-Encoding: chunked\r\n\r\na\r\n1234567890\r\n0\r\n\r\n",
            ]
            var random = SeededGenerator(seed: 2)
            for round in 0..<200 {
                var bytes = Data("HTTP/1.1 200 OK\r\n\(heads[round % 2])".utf8)
                for _ in 0..<Int.random(in: 1...3, using: &random) {
                    bytes[Int.random(in: bytes.indices, using: &random)] = .random(in: 0...255, using: &random)
                }
                bench.server.enqueue(.raw(.bytes(bytes)))
                do {
                    try await bench.fetch()
                } catch is NetworkingError {
                }
                let next = try await bench.fetch(HTTPRequestData(path: "next"))
                try expect(next.text, is: "next", in: "the next response")
            }
        },
    ]
}

/// A generator of the same numbers each time (SplitMix64), so that failures are reproducible.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
#endif
