import CLibraryForNetworking
import FoundationForNetworking
package import NetworkingCore

/// Moves a complete file to its destination in one step, so that no incomplete file ever appears there.
package enum FilePlacement {
    /// The maximum number of names to try.
    private static let maximumNumbers = 10_000

    /// Moves a file to a path on the same volume.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - destination: The path to move it to.
    ///   - existingFile: The policy for a file that already exists.
    /// - Returns: The final path.
    /// - Throws: The error of the system. The file has not moved then.
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
        // The file has its new name. A crash of the machine could still undo the renaming, but that is no reason to
        // report a failure.
        try? PrivateFile.synchronizeDirectory(of: place)
        return place
    }

    /// Moves a file to a path on any volume.
    ///
    /// A file on another volume is first copied to the directory of the destination, so that renaming takes one step
    /// there too.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - destination: The path to move it to.
    ///   - existingFile: The policy for a file that already exists.
    /// - Returns: The final path.
    /// - Throws: The reason why the file could not be moved. The file is still at its old path.
    package static func move(
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

    /// Returns `report 2.pdf` for `report.pdf`.
    private static func numbered(_ path: String, _ number: Int) -> String {
        let start = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path.utf8.index(after: $0) } ?? path.startIndex
        var (stem, suffix) = FileName.parts(of: path[start...])
        let insertion = " \(number)"
        FileName.shorten(&stem, toFit: FileName.maximumLength - suffix.utf8.count - insertion.utf8.count)
        return path[..<start] + stem + insertion + suffix
    }
}

extension FileFault {
    /// Whether a rename failed because the new path is on another volume.
    fileprivate var isOnAnotherVolume: Bool {
        code == EXDEV
    }
}
