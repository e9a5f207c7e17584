import Foundation
import Networking
import NetworkingTesting
import TestSupport
import Testing

/// Helpers that only this package's own suites use.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct OwnSuitesTests {
    private struct Broken: Error {}

    @Test func temporaryDirectoryIsRemovedAfterItsScope() async throws {
        let left = try await withTemporaryDirectory { directory in
            try Data("x".utf8).write(to: directory.appending(path: "file"))
            return directory
        }
        #expect(!FileManager.default.fileExists(atPath: left.path))

        var failed: URL?
        await #expect(throws: Broken.self) {
            try await withTemporaryDirectory { directory in
                failed = directory
                throw Broken()
            }
        }
        #expect(try !FileManager.default.fileExists(atPath: #require(failed).path))
        #expect(failed != left)
    }

    /// Like a database that is closed on its own thread and removes its log.
    @Test(arguments: 1...20) func temporaryDirectoryIsRemovedWhileFilesDisappear(round: Int) async throws {
        let (ends, end) = AsyncStream<Void>.makeStream()
        let left = try await withTemporaryDirectory { directory in
            let (starts, start) = AsyncStream<Void>.makeStream()
            Thread.detachNewThread {
                for _ in 1...40 {
                    try? Data().write(to: directory.appending(path: "log"))
                    start.finish()
                    unlink(directory.appending(path: "log").path)
                }
                end.finish()
            }
            for await _ in starts {}
            return directory
        }
        for await _ in ends {}
        #expect(!FileManager.default.fileExists(atPath: left.path))
    }

    /// Each way to print a value has exposed a secret before that the other ways did not.
    @Test func everyPrintIncludesDescriptionsAndDumps() {
        struct Open {
            let secret = "hunter2"
        }
        struct Described: CustomStringConvertible {
            let secret = "hunter2"
            var description: String { "described" }
        }
        struct Closed: CustomStringConvertible, CustomReflectable {
            let secret = "hunter2"
            var description: String { "closed" }
            var customMirror: Mirror { Mirror(self, children: []) }
        }
        #expect(everyPrint(of: Open()).contains("hunter2"))
        // The description omits the secret, but a dump does not use it.
        #expect(everyPrint(of: Described()).contains("hunter2"))
        #expect(!everyPrint(of: Closed()).contains("hunter2"))
        #expect(everyPrint(of: Closed()).contains("closed"))
    }

    @Test func withReturnsAChangedCopy() {
        let request = HTTPRequestData.lawful
        let other = request.with { $0.method = .put }

        #expect(other.method == .put)
        #expect(request.method == .get)
    }

    @Test func countingActorCountsEachHop() async throws {
        #expect(try await CountingActor().jobs(during: Hopping()) == 1)
        #expect(try await CountingActor().jobs(during: MockTransport { _ in .ok() }) == 0)
    }
}

private struct Hopping: NetworkingComponent {
    func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        _ = await elsewhere()
        return HTTPResponseData(request: request)
    }

    // The function has to do some work, or the compiler removes the hop.
    @concurrent
    private func elsewhere() async -> ObjectIdentifier {
        currentThread()
    }
}

private func currentThread() -> ObjectIdentifier {
    ObjectIdentifier(Thread.current)
}
