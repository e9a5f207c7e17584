import Foundation
import Networking
import NetworkingTesting
import TestSupport
import Testing

/// The selection of faults and requests, and the report for a failed test.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct FaultInjectorTests {
    private static let faults: [Fault] = [
        .error(.connectionLost, rate: 0.05),
        .latency(.milliseconds(200), jitter: .milliseconds(100), rate: 0.5),
        .status(.serviceUnavailable, rate: 0.1),
        .truncated(after: 512, rate: 0.01),
    ]

    private func script(of injector: FaultInjector, _ count: Int) -> [String] {
        (1...count).map { "\(injector.faults(forRequest: $0))" }
    }

    @Test func followsTheRates() async throws {
        let faults = FaultInjector(
            seed: 7,
            [
                .error(.timeout, rate: 0.05), .cut(after: 1, rate: 0.5), .corrupted(bytes: 1, rate: 0),
                .cut(after: 9, rate: 1),
            ]
        )
        let network = MockTransport { _ in .ok() }.faultInjected(by: faults)

        for _ in 0..<10_000 {
            _ = try? await network.data(.lawful)
        }

        #expect(faults.requestCount == 10_000)
        let counts = Dictionary(grouping: faults.injected) { $0.fault.description }.mapValues(\.count)
        let errors = try #require(counts["error(.timeout, rate: 0.05)"])
        // The tolerance is five standard deviations on each side.
        #expect((390...610).contains(errors))
        #expect((4_500...5_000).contains(try #require(counts["cut(after: 1, rate: 0.5)"])))
        #expect(counts["corrupted(bytes: 1, rate: 0.0)"] == nil)
        #expect(counts["cut(after: 9)"] == 10_000 - errors)
    }

    @Test func sameSeedGivesTheSameFaults() {
        let first = script(of: FaultInjector(seed: 42, Self.faults), 1_000)

        #expect(first == script(of: FaultInjector(seed: 42, Self.faults), 1_000))
        #expect(first != script(of: FaultInjector(seed: 43, Self.faults), 1_000))
    }

    @Test(arguments: [1, 64])
    func faultsAreTheSameForAnyNumberOfCallers(callers: Int) async throws {
        let faults = FaultInjector(seed: 42, Self.faults)
        let network = MockTransport { _ in .ok() }.faultInjected(by: faults).environment(\.clock, .immediate())

        await withTaskGroup { group in
            for _ in 0..<callers {
                group.addTask {
                    for _ in 0..<640 / callers {
                        _ = try? await network.data(.lawful)
                    }
                }
            }
        }

        let injected = Dictionary(grouping: faults.injected, by: \.number).mapValues { "\($0.map(\.fault))" }
        #expect((1...640).map { injected[$0] ?? "[]" } == script(of: FaultInjector(seed: 42, Self.faults), 640))
    }

    @Test func addedFaultDoesNotChangeTheOthers() {
        let few = FaultInjector(seed: 1, [.cut(after: 1, rate: 0.3)])
        let more = FaultInjector(seed: 1, [.cut(after: 1, rate: 0.3), .cut(after: 2, rate: 0.3)])

        for number in 1...200 {
            let kept = more.faults(forRequest: number).filter { "\($0)".contains("after: 1") }
            #expect("\(kept)" == "\(few.faults(forRequest: number))")
        }
    }

    /// A generator that derives one draw from another could correlate them.
    @Test func faultsAndRequestsAreIndependent() {
        let faults = FaultInjector(seed: 0, [.cut(after: 1, rate: 0.5), .cut(after: 2, rate: 0.5)])
        let both = (1...4_000).count { faults.faults(forRequest: $0).count == 2 }
        let none = (1...4_000).count { faults.faults(forRequest: $0).isEmpty }
        let repeated = (1..<4_000)
            .count { "\(faults.faults(forRequest: $0))" == "\(faults.faults(forRequest: $0 + 1))" }

        for count in [both, none, repeated] {
            #expect((850...1_150).contains(count))
        }
    }

    @Test func scriptDeterminesWhichRequestFails() async throws {
        let faults = FaultInjector(script: [nil, .error(.timeout), .status(.badGateway)])
        let transport = MockTransport { _ in .ok() }
        let network = transport.faultInjected(by: faults)

        #expect(try await network.data(.lawful).status == .ok)
        await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }
        #expect(try await network.data(.lawful).status == .badGateway)
        #expect(try await network.data(.lawful).status == .ok)

        #expect(transport.requests.count == 2)
        #expect(faults.requestCount == 4)
        #expect(faults.injected.map(\.number) == [2, 3])
    }

    @Test func scriptRepeats() {
        let faults = FaultInjector(script: [nil, .error(.timeout)], repeats: true)

        #expect((1...4).map { faults.faults(forRequest: $0).count } == [0, 1, 0, 1])
        #expect(FaultInjector(script: [], repeats: true).faults(forRequest: 1).isEmpty)
    }

    @Test func onlyMatchingRequestsAreNumbered() async throws {
        let faults = FaultInjector(script: [.status(.badGateway)], repeats: true) { $0.method == .post }
        let network = MockTransport { _ in .ok() }.faultInjected(by: faults).server(authority: "a.example")

        #expect(try await network.data(HTTPRequestData(path: "one")).status == .ok)
        #expect(try await network.data(HTTPRequestData(method: .post, path: "two")).status == .badGateway)
        faults.isEnabled = false
        #expect(try await network.data(HTTPRequestData(method: .post, path: "three")).status == .ok)
        faults.isEnabled = true
        #expect(try await network.data(HTTPRequestData(method: .post, path: "four")).status == .badGateway)

        #expect(faults.injected.map(\.request.path) == ["/two", "/four"])
        #expect(faults.injected.map(\.number) == [1, 2])
    }

    @Test func requestCanForbidFaults() async throws {
        let faults = FaultInjector(script: [.status(.badGateway)])
        let network = MockTransport { _ in .ok() }.faultInjected(by: faults)
        var spared = HTTPRequestData.lawful
        spared.allowsFaults = false

        #expect(try await network.data(spared).status == .ok)
        #expect(try await network.data(.lawful).status == .badGateway)
        #expect(faults.requestCount == 1)
    }

    @Test func cancelledRequestIsNotNumbered() async {
        let faults = FaultInjector(script: [.status(.badGateway)])
        let network = MockTransport { _ in .ok() }.faultInjected(by: faults).modified(CancellingItself())
        let call = Task { try await network.data(.lawful) }

        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(faults.requestCount == 0)
    }

    @Test func descriptionContainsSeedFaultsAndInjections() async throws {
        let faults = FaultInjector(seed: 3, [.status(.serviceUnavailable), .error(.timeout, rate: 0.5)])
        let network = MockTransport { _ in .ok() }.faultInjected(by: faults)
        try await network.data(HTTPRequestData(authority: "a.example", path: "users?access_token=hush"))

        let description = "\(faults)"
        #expect(
            description.hasPrefix(
                "FaultInjector(seed: 3, [status(503), error(.timeout, rate: 0.5)]): 1 in 1 requests\n  #1 GET"
            )
        )
        #expect(description.hasSuffix(": status(503)"))
        #expect(!description.contains("hush"))
        #expect(
            "\(FaultInjector(script: [nil, .cut(after: 3)], repeats: true))"
                == "FaultInjector(script: [nil, cut(after: 3)], repeats: true): 0 in 0 requests"
        )
        #expect(network.outline.contains("faultInjected(seed: 3, faults: 2)"))
    }

    @Test func descriptionsOfFaultsAreTheirSource() {
        struct Broken: Error {}
        let faults: [(Fault, String)] = [
            (.error(.timeout, afterSending: true, rate: 0.5), "error(.timeout, afterSending: true, rate: 0.5)"),
            (.failure(Broken()), "failure(Broken)"),
            (.latency(.seconds(2), jitter: .seconds(1)), "latency(2.0 seconds, jitter: 1.0 seconds)"),
            (.corrupted(bytes: 3), "corrupted(bytes: 3)"),
            (.truncated(after: 5), "truncated(after: 5)"),
            (.truncated(after: 5, as: .connectionLost), "truncated(after: 5, as: .connectionLost)"),
            (.stalled(after: 5), "stalled(after: 5)"),
            (.sliced(into: 16, every: .seconds(1)), "sliced(into: 16, every: 1.0 seconds)"),
        ]
        for (fault, text) in faults {
            #expect("\(fault)" == text)
        }
    }

    @Test func descriptionContainsARandomSeed() throws {
        let first = FaultInjector(Self.faults)
        let seed = try #require(first.seed)

        #expect("\(first)".hasPrefix("FaultInjector(seed: \(seed), "))
        #expect(script(of: first, 100) == script(of: FaultInjector(seed: seed, Self.faults), 100))
        #expect(FaultInjector(script: []).seed == nil)
    }
}

/// Cancels the caller's task after the outermost check for cancellation.
private struct CancellingItself: NetworkingModifier {
    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        withUnsafeCurrentTask { $0?.cancel() }
        return try await upstream.send(request)
    }
}
