import Dispatch
import Foundation
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingURLSession

/// Races between the writer, the reader, the disk and the end of a buffer.
@Suite(.tags(.concurrency, .memory), .timeLimit(.minutes(20)))
struct SpillBufferHammerTests {
    private static let body = Data((0..<20_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })

    /// The result of reading one buffer.
    private enum End {
        case complete
        case fault(FileFault)
    }

    @Test func bytesArriveCompletelyAndInOrderOrTheReaderGetsTheError() async {
        let hammer = Hammer()
        let paths = Locked<Set<String>>([])
        await hammer.run(tasks: 8, rounds: 300) { random, task, round in
            await run(&random, paths, "\(hammer), task \(task), round \(round)")
        }
        #expect(paths.value.count > 1_000)
        #if os(Linux)
        let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
            .compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
        let all = paths.value
        let leaked = open?.filter { all.contains($0.replacing(" (deleted)", with: "")) }
        #expect(leaked == [], "\(hammer)")
        #endif
    }

    private func run(_ random: inout RandomSource, _ paths: Locked<Set<String>>, _ name: String) async {
        let queue = DispatchQueue(label: "SpillBufferHammerTests")
        let opened = Mutex<Set<String>>([])
        let failing = random.once(in: 4) ? Int.random(in: 0..<40, using: &random) : nil
        let writes = Atomic(0)
        let buffer = SpillBuffer(
            inMemoryUpTo: Int.random(in: 0...200, using: &random),
            unwrittenUpTo: Int.random(in: 0...2_000, using: &random),
            patience: .seconds(100),
            queue: queue,
            files: SpillFiles { file throws(FileFault) in
                opened.withLock { _ = $0.insert(file.path) }
                if writes.add(1, ordering: .relaxed).oldValue == failing {
                    throw FileFault(path: file.path, code: ENOSPC)
                }
            }
        )
        let isDropped = random.once(in: 4)
        let isOver = Locked(false)
        let (writer, dropper) = (RandomSource.seeded(random.next()), RandomSource.seeded(random.next()))
        var reader = RandomSource.seeded(random.next())
        let (taken, end) = await withTaskGroup { group -> (Data, End) in
            group.addTask {
                await write(to: buffer, writer)
                isOver.withLock { $0 = true }
            }
            if isDropped {
                group.addTask {
                    var random = dropper
                    await random.yield(upTo: 60)
                    buffer.removeAll()
                }
            }
            let result = await read(buffer, &reader, isOver)
            await group.waitForAll()
            return result
        }
        #expect(taken == Self.body.prefix(taken.count), "\(name)")
        switch end {
        case .complete:
            #expect(taken.count == Self.body.count || isDropped, "\(name)")
        case .fault(let fault):
            #expect(failing != nil && fault.code == ENOSPC, "\(name)")
        }
        buffer.removeAll()
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume() }
        }
        #expect(buffer.isEmpty, "\(name)")
        let all = opened.withLock { $0 }
        paths.withLock { $0.formUnion(all) }
    }

    /// Appends the body on a thread that may block, like the queue of URLSession.
    private func write(to buffer: SpillBuffer, _ random: RandomSource) async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global()
                .async {
                    var random = random
                    var rest = Self.body[...]
                    while !rest.isEmpty {
                        let count = Int.random(in: 0...900, using: &random)
                        buffer.append(Data(rest.prefix(count)))
                        rest = rest.dropFirst(count)
                        if random.once(in: 3) {
                            buffer.waitForDisk()
                        }
                    }
                    continuation.resume()
                }
        }
    }

    /// Reads to the end.
    ///
    /// Sometimes cancels a wait and reads again.
    private func read(
        _ buffer: SpillBuffer,
        _ random: inout RandomSource,
        _ isOver: Locked<Bool>
    ) async -> (Data, End) {
        var taken = Data()
        while true {
            // The flag is read first, because the last bytes may arrive in between.
            let isLast = isOver.value
            let isReady = Suspension<Void>()
            do throws(FileFault) {
                guard let data = try buffer.take(orNotify: { isReady.resume() }) else {
                    if !random.once(in: 5) {
                        try? await isReady.value()
                    }
                    continue
                }
                taken += data
                if data.isEmpty {
                    guard !isLast else { return (taken, .complete) }
                    await Task.yield()
                }
            } catch {
                return (taken, .fault(error))
            }
        }
    }
}

#if URLSession && canImport(FoundationNetworking)
import FoundationNetworking

/// Exchanges with a body in files and a caller that may be cancelled at any moment.
@Suite(.tags(.concurrency, .memory), .timeLimit(.minutes(20)))
struct URLSessionSpillHammerTests {
    private static let chunk = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 3) })

    @Test func everyCallerGetsItsBodyOrItsCancellation() async throws {
        let hammer = Hammer()
        let url = try #require(URL(string: "http://a.example/"))
        let head = try #require(HTTPURLResponse(url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: [:]))
        let left = Locked(0)
        await hammer.run(tasks: 4, rounds: 20) { random, task, round in
            let objects = WatchedObjects()
            await run(&random, head, objects, "\(hammer), task \(task), round \(round)")
            let count = await objects.countAtEnd()
            left.withLock { $0 += count }
        }
        #expect(left.value == 0, "\(hammer)")
    }

    private func run(
        _ random: inout RandomSource,
        _ head: HTTPURLResponse,
        _ objects: WatchedObjects,
        _ name: String
    ) async {
        let sink = CollectingSink()
        var request = HTTPRequestData.lawful
        request.sink = sink
        let exchange = URLSessionExchange(request: request, cookies: nil, upload: nil)
        objects.watch(exchange)
        let count = Int.random(in: 1...10, using: &random)
        let call = Task { try await exchange.respond() }
        let isCancelled = random.once(in: 2)
        async let receiving: Void = withCheckedContinuation { continuation in
            DispatchQueue.global()
                .async {
                    exchange.receive(head)
                    for _ in 0..<count {
                        exchange.receive(Self.chunk)
                    }
                    exchange.complete(with: nil)
                    continuation.resume()
                }
        }
        if isCancelled {
            await random.yield(upTo: 400)
            call.cancel()
        }
        let result = await call.result
        await receiving
        switch result {
        case .success(let response):
            #expect(response.body == .delivered(byteCount: Int64(count * Self.chunk.count)), "\(name)")
            #expect(sink.data == [Data](repeating: Self.chunk, count: count).reduce(Data(), +), "\(name)")
        case .failure(let error):
            #expect(isCancelled && error is CancellationError, "\(name): \(error)")
        }
    }
}
#endif
