package import NetworkingCore

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// How a file that is complete gets its name: in one step, so that nobody ever sees a half one under it.
package enum FilePlacement {
    /// The most names that are tried before it is given up.
    private static let maximumNumbers = 10_000

    /// Moves a file to a path of the same volume.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - destination: Where it is to be.
    ///   - existingFile: What becomes of a file that is there.
    /// - Returns: Where it is.
    /// - Throws: What the system says of it; the file is where it was then.
    static func place(
        _ path: String,
        at destination: String,
        ifExists existingFile: ExistingFilePolicy
    ) throws(FileFault) -> String {
        var place = destination
        switch existingFile {
        case .replace:
            try PrivateFile.move(path, to: place)
        case .fail:
            guard try PrivateFile.moveToNewName(path, place) else { throw FileFault.taken(place) }
        case .number:
            var number = 1
            while try !PrivateFile.moveToNewName(path, place) {
                number += 1
                guard number <= maximumNumbers else { throw FileFault.taken(place) }
                place = numbered(destination, number)
            }
        }
        // It has its name now; that the machine may forget that is no reason to say that it has none.
        try? PrivateFile.synchronizeDirectory(of: place)
        return place
    }

    /// Moves a file to a path of any volume.
    ///
    /// Over the border of a volume it is copied first, next to where it is to be, so that it gets its name in one step
    /// there, too.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - destination: Where it is to be.
    ///   - existingFile: What becomes of a file that is there.
    /// - Returns: Where it is.
    /// - Throws: What kept it from its place; it is still where it was.
    package static func bring(
        _ path: String,
        to destination: String,
        ifExists existingFile: ExistingFilePolicy
    ) throws(FileFault) -> String {
        do {
            return try place(path, at: destination, ifExists: existingFile)
        } catch {
            guard error.isOnAnotherVolume else { throw error }
        }
        let copy = "\(PrivateFile.parent(of: destination) ?? "")/.networking-\(UUID().uuidString)"
        do {
            try self.copy(path, to: copy)
            let place = try place(copy, at: destination, ifExists: existingFile)
            _ = try? PrivateFile.remove(path)
            return place
        } catch {
            _ = try? PrivateFile.remove(copy)
            throw error
        }
    }

    private static func copy(_ path: String, to other: String) throws(FileFault) {
        let (source, copy) = (try OpenFile(reading: path), try OpenFile(creating: other))
        while true {
            let chunk = try source.read(upTo: 1 << 20)
            if chunk.isEmpty { break }
            try copy.write(chunk)
        }
        try copy.synchronize()
    }

    /// `report 2.pdf` for `report.pdf`.
    private static func numbered(_ path: String, _ number: Int) -> String {
        let start = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path.utf8.index(after: $0) } ?? path.startIndex
        var (stem, suffix) = FileName.parts(of: path[start...])
        let insertion = " \(number)"
        FileName.shorten(&stem, toFit: FileName.longest - suffix.utf8.count - insertion.utf8.count)
        return path[..<start] + stem + insertion + suffix
    }
}
