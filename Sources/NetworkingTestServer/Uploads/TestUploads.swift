#if TestServer
import FoundationForNetworking
public import HTTPTypes
import NetworkingCore
import Synchronization

/// The uploads of one path of a ``TestServer``, which clients can resume.
///
/// The server plays both protocols, strictly: Resumable Uploads for HTTP (draft-ietf-httpbis-resumable-upload, interop
/// version 8) and tus 1.0.0 with `creation`, `creation-with-upload`, `expiration`, `termination` and, in builds with
/// the trait `Crypto`, `checksum`. A test reads the uploads and queues a ``Fault`` for a ``Step``:
///
/// ```swift
/// let uploads = server.routeUploads("/films")
/// uploads.enqueue(.disconnect(.reset, after: .bytes(1_000)), at: .append)
/// // … the client uploads a file to server.url.appending(path: "films") …
/// #expect(uploads.all.map(\.isComplete) == [true])
/// ```
///
/// The memory for an upload does not depend on its length: the server computes the digest while the bytes arrive, and
/// stores them only in the files of ``Options/directory``.
public final class TestUploads: Sendable {
    /// A closure that returns the response of the resource that has received a whole representation.
    public typealias Completion = @Sendable (RecordedUpload) -> TestResponse

    /// The maximum number of uploads.
    ///
    /// Another one gets `503`.
    static let maximumCount = 1_000

    let options: Options
    let path: String
    let origin: URL
    let completion: Completion
    /// The server's clock, which also decides when an upload expires.
    let clock: NetworkClock
    private let start: Duration
    private let startDate = Date()
    private let state = Mutex(State())

    private struct State {
        var lastNumber = 0
        var uploads: [StoredUpload] = []
        var faults: [Step: [Fault]] = [:]
    }

    init(
        path: String,
        origin: URL,
        options: Options,
        clock: some Clock<Duration>,
        completion: @escaping Completion
    ) {
        self.path = path
        self.origin = origin
        self.options = options
        self.completion = completion
        self.clock = NetworkClock(clock)
        start = self.clock.now
    }

    /// The uploads in the order of their creation, also the cancelled, expired and complete ones.
    ///
    /// A request without a resumable upload counts as an upload too.
    public var all: [RecordedUpload] {
        state.withLock { $0.uploads }.map(\.record)
    }

    /// Queues faults for the next requests of a step, one each.
    ///
    /// ```swift
    /// let uploads = server.routeUploads("/films")
    /// uploads.enqueue(.none, .disconnect(.close, after: .processing), at: .append)
    /// ```
    ///
    /// - Parameters:
    ///   - faults: The faults, starting with that of the next request.
    ///   - step: The step of the protocol.
    public func enqueue(_ faults: Fault..., at step: Step) {
        enqueue(faults, at: step)
    }

    /// Queues faults for the next requests of a step, one each.
    ///
    /// - Parameters:
    ///   - faults: The faults, starting with that of the next request.
    ///   - step: The step of the protocol.
    public func enqueue(_ faults: [Fault], at step: Step) {
        state.withLock { $0.faults[step, default: []] += faults }
    }

    /// Returns the queued faults that no request has met.
    ///
    /// - Parameter step: The step of the protocol.
    /// - Returns: The faults, in order.
    public func queuedFaults(at step: Step) -> [Fault] {
        state.withLock { $0.faults[step] ?? [] }
    }

    /// Forgets every upload, as a server does that has lost its state: each request for one gets a status.
    ///
    /// - Parameter status: The status, such as `404 Not Found` or `410 Gone`.
    public func forgetAll(status: HTTPResponse.Status = .notFound) {
        for upload in state.withLock({ $0.uploads }) { upload.end(status) }
    }
}

extension TestUploads {
    /// Takes the fault of the first of some steps that has one.
    func takeFault(at steps: [Step]) -> Fault? {
        state.withLock { state in
            for step in steps {
                if let fault = state.faults[step]?.first {
                    state.faults[step]?.removeFirst()
                    return fault
                }
            }
            return nil
        }
    }

    /// Creates an upload; returns `nil` if there are too many.
    func create(
        _ make: (_ number: Int, _ path: String) throws -> StoredUpload
    ) rethrows -> StoredUpload? {
        // Only one task creates an upload with a number, and opening its file must not happen under the lock.
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        guard number <= Self.maximumCount else { return nil }
        let upload = try make(number, "\(path)/\(number)")
        state.withLock { $0.uploads.append(upload) }
        return upload
    }

    /// Returns the upload with a number, after marking it as expired if its time is over.
    func upload(_ number: String) -> StoredUpload? {
        let found = state.withLock { $0.uploads.first { String($0.number) == number && $0.uploadProtocol != nil } }
        if let found, let deadline = found.deadline, deadline <= clock.now { found.end(.gone) }
        return found
    }

    /// The moment at which an upload that is created now expires, on the scale of the clock.
    var deadline: Duration? {
        options.limits.maximumAge.map { clock.now + $0 }
    }

    /// Returns the date of a moment of the clock.
    func date(of moment: Duration) -> Date {
        startDate.addingTimeInterval((moment - start) / .seconds(1))
    }
}
#endif
