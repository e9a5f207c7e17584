extension Cassette {
    /// How a cassette handles requests.
    ///
    /// | Mode | The file is not there | The file has the request | The file does not have it |
    /// |---|---|---|---|
    /// | ``once`` | records | replays | fails |
    /// | ``newEpisodes`` | records | replays | records |
    /// | ``none`` | cannot be opened | replays | fails |
    /// | ``all`` | records | records | records |
    public enum Mode: String, Sendable, Hashable, CaseIterable {
        /// Records if there is no file; afterwards replays, and a request that is not in the file fails.
        case once
        /// Replays the interactions in the file and records all other requests.
        case newEpisodes
        /// Replays and never sends anything; the mode for continuous integration.
        case none
        /// Sends and records every request, replacing earlier recordings.
        case all
    }
}
