public import FoundationForNetworking

extension NetworkInspector {
    /// The recorded calls as an HTTP archive, including calls in progress, as recorded so far.
    public var archive: HTTPArchive {
        HTTPArchive(of: shelf.captures, title: title)
    }

    /// Writes the recorded calls as a page for a browser: a single file, readable only by this user, that needs no
    /// network.
    ///
    /// - Parameter url: The file; an existing file is replaced.
    /// - Throws: ``HTTPArchiveError`` if the file cannot be written.
    public func writeReport(to url: URL) throws(HTTPArchiveError) {
        try archive.writeReport(to: url)
    }
}
