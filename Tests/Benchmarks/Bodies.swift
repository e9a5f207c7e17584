#if URLSession && AsyncHTTPClient && SQLite && Telemetry
import Foundation
import HTTPTypes
import Networking

/// The cost of compressing and checking bodies, and of reading problem details.
enum Bodies {
    private static let size = 1 << 20

    static func measure() async throws -> [Row] {
        let url = URL(string: "https://api.example.com/readings")!
        let upload = HTTPRequestData(.post, url, body: .data(records, contentType: "application/json"))
        let compressing = InstantTransport().compressedBodies()
        let problem = Data(
            #"{"type":"/probs/credit","title":"No credit.","status":403,"errors":[\#(errors)],"balance":30}"#.utf8
        )
        let reading = try await Measurement.measure(runs: 1_000, samples: 20) {
            _ = try ProblemDetails(json: problem)
        }
        var rows = [
            Row(
                name: "compressedBodies, 1 MiB of JSON in gzip",
                value: try await rate { _ = try await compressing.data(upload) },
                unit: "MB/s"
            ),
            Row(name: "problem details of 1 KiB, read", value: reading.minimum, unit: "ns"),
        ]
        #if Crypto
        let download = HTTPRequestData(url: url)
        let plain = BodyTransport()
        let checking = BodyTransport().verifiedDigests(isRequired: true)
        rows += [
            Row(
                name: "verifiedDigests, a body of 1 MiB with a SHA-256",
                value: try await rate { _ = try await checking.data(download) },
                unit: "MB/s"
            ),
            Row(
                name: "the same body without the check",
                value: try await rate { _ = try await plain.data(download) },
                unit: "MB/s"
            ),
        ]
        #endif
        return rows
    }

    /// Records that are as similar to each other as those of an API.
    private static var records: Data {
        let text = (0..<20_000)
            .map { #"{"id":\#($0),"name":"Emily Carter","city":"Emden","balance":\#($0 * 7_919 % 10_000)}"# }
            .joined(separator: ",")
        return Data("[\(text)]".utf8.prefix(size))
    }

    private static var errors: String {
        Array(repeating: ##"{"detail":"must be a positive integer","pointer":"#/age"}"##, count: 16)
            .joined(separator: ",")
    }

    /// Megabytes of a body a second.
    private static func rate(_ call: () async throws -> Void) async throws -> Double {
        let time = try await Measurement.measure(runs: 1, samples: 20) { try await call() }
        return Double(size) / time.minimum * 1_000
    }
}

/// A transport that returns a body of 1 MiB with its digest.
private struct BodyTransport: NetworkingComponent {
    private let response = HTTPResponseData(
        request: HTTPRequestData(),
        http: HTTPResponse(
            status: .ok,
            headerFields: [
                HTTPField.Name("Repr-Digest")!: "sha-256=:MOFJVevxNSJm3C/4Bn5oEEYH51CrudOzZYK4r5Cfy1g=:"
            ]
        ),
        body: .collected(Data(count: 1 << 20))
    )

    func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        response
    }
}
#endif
