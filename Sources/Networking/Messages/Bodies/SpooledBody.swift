#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A body that has been brought into a temporary file, which is read without its name.
struct SpooledBody: BodySource {
    let file: TemporaryFile
    let length: Int64?

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

private struct SpooledReader: BodyReaderNow {
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
