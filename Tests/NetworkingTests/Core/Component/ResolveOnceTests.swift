import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

/// A stack rewrites the request of a call once, whichever method the app calls.
@Suite(.timeLimit(.minutes(20)))
struct ResolveOnceTests {
    struct Verb: Sendable, CustomTestStringConvertible {
        let name: String
        /// The number of requests that the call sends.
        var sent = 1
        /// The number of times that the request is rewritten.
        var resolved = 1
        let call: @Sendable (any NetworkingComponent) async throws -> Void

        var testDescription: String { name }
    }

    private static let request = HTTPRequestData(path: "items")
    private static let typed = Request<[Int]>(request)

    private static let verbs: [Verb] = [
        Verb(name: "send") { _ = try await $0.send(request) },
        Verb(name: "data") { try await $0.data(request) },
        Verb(name: "value") { _ = try await $0.value(typed) },
        Verb(name: "request") { _ = try await $0.request(typed) },
        Verb(name: "perform") { try await $0.perform(request) },
        Verb(name: "result") { _ = try await $0.result(of: typed).get() },
        Verb(name: "result of a response") { _ = try await $0.result(of: request).get() },
        Verb(name: "upload") { _ = try await $0.upload(.data(Data("body".utf8)), to: HTTPRequestData.post("items")) },
        Verb(name: "download") { network in
            let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            _ = try await network.download(request, to: folder.appending(path: "file"))
        },
        Verb(name: "stream") { network in
            try await network.stream(request) { _, stream in
                for try await _ in stream {}
            }
        },
        Verb(name: "callback") { network in
            let _: HTTPResponseData = try await withCheckedThrowingContinuation { continuation in
                _ = network.callback(queue: .global()) {
                    try await $0.data(request)
                } completion: {
                    continuation.resume(with: $0)
                }
            }
        },
        Verb(name: "pages", sent: 2, resolved: 2) { network in
            for try await _ in network.pages(typed, next: .number { $0.isEmpty }) {}
        },
        Verb(name: "outbox", resolved: 2) { network in
            // Once when the request is added, and once when it is sent.
            let outbox = Outbox(in: MemoryOutboxStore(), over: network)
            var environment = NetworkEnvironment.current
            environment.connectivity = ManualConnectivity()
            try await withEnvironment(environment) {
                try await outbox.enqueue(HTTPRequestData.post("items"))
                _ = try await outbox.flush()
            }
        },
        Verb(name: "stored, then fresh") { network in
            for try await _ in network.storedThenFresh(request) {}
        },
        // The second stack of a request may be another one, so it recognizes its server again.
        Verb(name: "resolved by the app", resolved: 2) { try await $0.data($0.resolved(request)) },
    ]

    @Test(arguments: verbs)
    func stackRewritesTheRequestOfACallOnce(verb: Verb) async throws {
        let count = Mutex(0)
        let transport = MockTransport { .text($0.query.page == nil ? "[1]" : "[]") }
        let network = transport.cached().retry().server { _ in count.withLock { $0 += 1 } }
            .server(authority: "api.example.com")

        try await verb.call(network)

        #expect(transport.requests.count == verb.sent)
        #expect(count.withLock { $0 } == verb.resolved)
    }
}
