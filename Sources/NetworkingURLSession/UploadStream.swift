#if URLSession && canImport(FoundationNetworking)
import Foundation
import NetworkingCore
import Synchronization

/// A body that is read while it is sent, with its state and the failure that stopped the reading.
final class UploadReading: Sendable {
    let body: RequestBody
    let length: Int64
    private let state = Mutex(State())

    init(_ body: RequestBody, length: Int64) {
        self.body = body
        self.length = length
    }

    /// Whether the whole body has been read, so that the server may have received it.
    var isRead: Bool {
        state.withLock { $0.isRead }
    }

    var failure: RequestBody.Failure? {
        if let failure = state.withLock({ $0.failure }) { return failure }
        // An empty file is never read.
        guard checksDisk, let path = body.fileURL?.path else { return nil }
        return (try? FileSnapshot(of: path).size) == 0 ? nil : .changed(path)
    }

    /// Whether ``failure`` reads the state of the file from the disk.
    var checksDisk: Bool {
        length == 0
    }

    func end() {
        state.withLock { $0.isRead = true }
    }

    func fail(with error: any Error) {
        guard let failure = error as? RequestBody.Failure else { return }
        state.withLock { $0.failure = $0.failure ?? failure }
    }

    private struct State {
        var isRead = false
        var failure: RequestBody.Failure?
    }
}

/// A body as a stream that URLSession reads on its queue, in chunks of any size, and never beyond the announced length.
// Not Sendable, like every stream; URLSession reads it on one queue.
final class UploadStream: InputStream {
    private let reading: UploadReading
    private let isRefused: Bool
    private var reader: (any BodyReaderNow)?
    private var pending = Data()
    private var rest: Int64
    private var status = Stream.Status.notOpen

    /// Creates a stream of a body.
    ///
    /// - Parameters:
    ///   - reading: The body, which also records the result of reading it.
    ///   - isRefused: Whether the exchange must fail instead of reading the body.
    init(_ reading: UploadReading, isRefused: Bool = false) {
        self.reading = reading
        self.isRefused = isRefused
        rest = reading.length
        super.init(data: Data())
    }

    override var streamStatus: Stream.Status {
        status
    }

    override var streamError: (any Error)? {
        reading.failure
    }

    override func open() {
        status = .open
    }

    override func close() {
        status = .closed
    }

    /// Whether bytes remain to be read; URLSession treats `false` as the end of the body.
    override var hasBytesAvailable: Bool {
        rest > 0 || !pending.isEmpty
    }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength length: Int) -> Int {
        guard !isRefused else { return -1 }
        do {
            if pending.isEmpty {
                try fill()
            }
            let count = min(length, pending.count)
            pending.copyBytes(to: buffer, count: count)
            pending = pending.dropFirst(count)
            if rest == 0, pending.isEmpty {
                reading.end()
            }
            return count
        } catch {
            reading.fail(with: error)
            status = .error
            return -1
        }
    }

    private func fill() throws {
        var reader = try self.reader ?? reading.body.openNow()
        let chunk = try reader?.nextNow()
        self.reader = reader
        rest -= Int64(chunk?.count ?? 0)
        // The length of the file may have changed by the time it is read. This is checked before the last bytes are
        // returned, so that the server does not receive a complete request with a different body.
        let isShort = chunk == nil && rest > 0
        guard rest >= 0, !isShort, try rest > 0 || reader?.nextNow() == nil else {
            throw RequestBody.Failure.changed(reading.body.fileURL?.path)
        }
        self.reader = reader
        pending = chunk ?? Data()
    }
}
#endif
