import Foundation
import HTTPTypes
package import Networking
import NetworkingTesting
import Synchronization
import Testing

/// Requests of a cache and what it does with them, as `Tests/Vectors/cache-groups.json` and `no-vary-search.json`
/// describe them.
package struct CacheVector: Decodable, Sendable, CustomTestStringConvertible {
    package let name: String
    let isShared: Bool?
    let steps: [Step]

    package var testDescription: String { name }

    struct Step: Decodable, Sendable {
        let at: Double?
        let method: String?
        let url: String
        let user: String?
        let fields: [[String]]?
        let body: String?
        let status: Int?
        let answer: [[String]]?
        let uses: Int?
        let sends: Bool?
        let condition: String?

        var isSent: Bool { sends ?? (uses == nil) }
    }

    private struct Document: Decodable {
        let vectors: [CacheVector]
    }

    /// Reads the vectors of a file in `Tests/Vectors`; none if it cannot be read.
    package static func vectors(in file: String) -> [CacheVector] {
        let text = try? Repository.text(at: "Tests/Vectors/\(file)")
        return (try? JSONDecoder().decode(Document.self, from: Data((text ?? "").utf8)))?.vectors ?? []
    }

    /// All vectors of caches.
    package static let all = vectors(in: "cache-groups.json") + vectors(in: "no-vary-search.json")

    /// The modifier that names the user of a request.
    private struct Naming: NetworkingModifier {
        let user: String?

        func principal(for request: HTTPRequestData, upstream: some NetworkingComponent) -> Principal? {
            user.map { Principal(id: $0) }
        }

        func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
            try await upstream.send(request)
        }
    }

    /// Sends the requests through caches with stores, and checks the responses.
    ///
    /// - Parameter stores: The stores; several of them take turns, as processes that share what they have stored.
    /// - Throws: The error of a request.
    package func run(over stores: any CacheStore...) async throws {
        let caches = stores.map { ResponseCache(in: $0, isShared: isShared == true) }
        let manual = ManualClock(start: Date(timeIntervalSince1970: 1_700_000_000))
        let start = manual.now.offset
        let transport = MockTransport { [steps] request in
            let number = Int(request.headerFields[Self.numberName] ?? "") ?? 0
            let step = steps[number - 1]
            var fields = Self.fields(step.answer)
            fields[.date] = NetworkClock.manual(manual).date.httpDate
            let status = HTTPResponse.Status(code: step.status ?? 200)
            let hasBody = request.method != .head && ![204, 304].contains(status.code)
            return MockResponse(status: status, data: hasBody ? Data("\(number)".utf8) : Data(), headerFields: fields)
        }
        for (index, step) in steps.enumerated() {
            let label: Comment = "step \(index + 1) of \"\(name)\""
            if let at = step.at {
                manual.advance(by: .seconds(at) - (manual.now.offset - start))
            }
            let sent = transport.requests.count
            let network = transport.modified(Numbering(number: index + 1)).modified(Naming(user: step.user))
                .cached(in: caches[index % caches.count]).environment(\.clock, .manual(manual))
            let host = step.url.hasPrefix("/") ? "api.example" : ""
            let text = "https://\(host)\(step.url)"
            var request = try HTTPRequestData(url: #require(URL(string: text), label))
            request.method = try #require(HTTPRequest.Method(step.method ?? "GET"), label)
            for field in Self.fields(step.fields) {
                request.headerFields.append(field)
            }
            request.body = step.body.map { .data(Data($0.utf8), contentType: "text/plain") }
            let response = try await network.data(request)
            #expect((transport.requests.count > sent) == step.isSent, label)
            if step.isSent {
                #expect(transport.requests.last?.url == request.url, label)
                #expect(transport.requests.last?.headerFields[.ifNoneMatch] == step.condition, label)
            }
            guard request.method != .head, step.status != 204 else { continue }
            #expect(response.text == "\(step.uses ?? index + 1)", label)
        }
    }

    /// Tells the transport the number of the step.
    private struct Numbering: NetworkingModifier {
        let number: Int

        func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
            var request = request
            request.headerFields[CacheVector.numberName] = "\(number)"
            return try await upstream.send(request)
        }
    }

    private static let numberName = HTTPField.Name("X-Step")!

    private static func fields(_ pairs: [[String]]?) -> HTTPFields {
        var fields = HTTPFields()
        for pair in pairs ?? [] where pair.count == 2 {
            guard let name = HTTPField.Name(pair[0]) else { continue }
            fields.append(HTTPField(name: name, value: pair[1]))
        }
        return fields
    }
}
