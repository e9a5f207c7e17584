import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

/// Labels, IDs and random values that a test can predict.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct PredictabilityTests {
    @Test func numbersRequestsFromOneInAScope() async throws {
        try await withIncrementingIDs {
            let transport = MockTransport { _ in .ok() }
            try await transport.data(HTTPRequestData(authority: "a.example", path: "one"))
            try await transport.data(HTTPRequestData(authority: "a.example", path: "two"))

            #expect(transport.requests.map { "\($0.id)" } == ["000001", "000002"])
        }
    }

    @Test func childTasksContinueTheCountButDetachedTasksDoNot() async {
        await withIncrementingIDs {
            async let child = "\(HTTPRequestData().id)"
            #expect(await child == "000001")
            #expect(await Task { "\(HTTPRequestData().id)" }.value == "000002")
            #expect(await Task.detached { "\(HTTPRequestData().id)" }.value != "000003")
            // A nested scope has its own count.
            await withIncrementingIDs { #expect("\(HTTPRequestData().id)" == "000001") }
            #expect("\(HTTPRequestData().id)" == "000003")
        }
    }

    @Test func taskThatOutlivesItsScopeContinuesTheCount() async throws {
        let gate = Suspension<Void>()
        let task = await withIncrementingIDs {
            #expect("\(HTTPRequestData().id)" == "000001")
            return Task {
                try await gate.value()
                return "\(HTTPRequestData().id)"
            }
        }
        gate.resume()

        #expect(try await task.value == "000002")
    }

    @Test func scopesCountIndependently() async {
        await withTaskGroup { group in
            for _ in 0..<64 {
                group.addTask { await withIncrementingIDs { (0..<100).map { _ in "\(HTTPRequestData().id)" } } }
            }
            for await labels in group {
                #expect(labels.first == "000001")
                #expect(Set(labels).count == 100)
                #expect(labels.last == "00002s")
            }
        }
    }

    @Test func incrementingSourceNumbersItsDraws() {
        let source = SecureRandomSource.incrementing()
        let copy = source

        #expect(source.bytes(10) == [0, 0, 0, 0, 0, 0, 0, 0, 0, 1])
        #expect(copy.bytes(8) == [0, 0, 0, 0, 0, 0, 0, 2])
        #expect(source.bytes(1) == [3])
        #expect(source.bytes(0).isEmpty)
        #expect(SecureRandomSource.incrementing(from: 0x0102).bytes(3) == [0, 1, 2])
    }

    @Test func traceIDsArePredictable() async throws {
        let transport = MockTransport { _ in .ok() }
        let network = transport.traced().environment(\.secureRandom, .incrementing())

        try await network.data(.lawful)

        let parent = try #require(transport.requests.first?.headerFields[HTTPField.Name("traceparent")!])
        #expect(parent.hasPrefix("00-00000000000000000000000000000001-00000000000000"))
    }

    @Test func repeatingSourceRepeatsItsPattern() {
        #expect(SecureRandomSource.repeating([1, 2, 3]).bytes(7) == [1, 2, 3, 1, 2, 3, 1])
    }

    @Test func randomSourceCanBeConstantOrCyclic() {
        let cycle = RandomSource.cycling([1, 2])
        #expect((0..<5).map { _ in cycle.next() } == [1, 2, 1, 2, 1])
        #expect(RandomSource.constant(7).next() == 7)
    }
}
