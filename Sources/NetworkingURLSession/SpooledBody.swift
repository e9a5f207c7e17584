import FoundationForNetworking
import NetworkingCore

/// A body source that reads a temporary file with the bytes of another body.
struct SpooledBody: BodySource {
    let file: TemporaryFile
    let length: Int64?

    init(file: TemporaryFile, length: Int64?) {
        self.file = file
        self.length = length
    }

    var isOnDisk: Bool {
        true
    }

    var isReplayable: Bool {
        true
    }

    var identity: String? {
        nil
    }

    func open() -> any BodyReader {
        SpooledReader(file: file)
    }

    func openNow() -> (any BodyReaderNow)? {
        SpooledReader(file: file)
    }
}

private struct SpooledReader: DiskReader {
    let file: TemporaryFile
    private var position: Int64 = 0

    init(file: TemporaryFile) {
        self.file = file
    }

    mutating func nextNow() throws -> Data? {
        do {
            let data = try file.read(upTo: 128 << 10, at: position)
            position += Int64(data.count)
            return data.isEmpty ? nil : data
        } catch {
            throw RequestBody.Failure(error)
        }
    }
}
