package import Foundation

/// The files of this package, for tests that compare documents with sources.
package enum Repository {
    /// The folder of `Package.swift`.
    package static let root = URL(filePath: #filePath).appending(path: "../../..").standardized

    /// Reads a file.
    ///
    /// - Parameter path: The path from the root.
    /// - Returns: The text of the file.
    /// - Throws: The error of the file system.
    package static func text(at path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// Returns the Swift files of a folder and its subfolders, sorted by path.
    ///
    /// - Parameter path: The path of the folder from the root.
    /// - Returns: The URLs of the files.
    package static func swiftFiles(in path: String) -> [URL] {
        let files = FileManager.default.enumerator(
            at: root.appending(path: path),
            includingPropertiesForKeys: nil,
            options: .skipsHiddenFiles
        )
        return (files?.compactMap { $0 as? URL } ?? []).filter { $0.pathExtension == "swift" }
            .sorted { $0.path < $1.path }
    }
}
