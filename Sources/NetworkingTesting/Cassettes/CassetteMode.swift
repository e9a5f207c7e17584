extension Cassette {
    /// What a cassette does with a request.
    ///
    /// | Mode | The file is not there | The file has the request | The file does not have it |
    /// |---|---|---|---|
    /// | ``once`` | records | replays | fails |
    /// | ``newEpisodes`` | records | replays | records |
    /// | ``none`` | cannot be opened | replays | fails |
    /// | ``all`` | records | records | records |
    public enum Mode: String, Sendable, Hashable, CaseIterable {
        /// Records while there is no file; after that it replays, and a request that is not in the file fails.
        case once
        /// Replays what it has and records the rest.
        case newEpisodes
        /// Replays and never sends anything: the mode for continuous integration.
        case none
        /// Sends everything and records it anew.
        case all
    }
}
