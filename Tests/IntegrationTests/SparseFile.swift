import Foundation
import Testing

/// Creates a file of zeros in a directory, which takes no space on the disk.
func sparseFile(
    of byteCount: Int,
    in directory: URL,
    sourceLocation: SourceLocation = #_sourceLocation
) -> URL {
    let file = directory.appending(path: "data.bin")
    #expect(FileManager.default.createFile(atPath: file.path, contents: nil), sourceLocation: sourceLocation)
    #expect(truncate(file.path, off_t(byteCount)) == 0, sourceLocation: sourceLocation)
    return file
}
