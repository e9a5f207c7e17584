/// How a file that is complete gets its name: in one step, so that nobody ever sees a half one under it.
enum FilePlacement {
    /// The most names that are tried before it is given up.
    private static let mostNumbers = 10_000

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
                guard number <= mostNumbers else { throw FileFault.taken(place) }
                place = numbered(destination, number)
            }
        }
        try PrivateFile.synchronizeDirectory(of: place)
        return place
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
