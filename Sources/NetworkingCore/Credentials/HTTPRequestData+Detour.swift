extension HTTPRequestData {
    /// A copy of a request that a chain is rewriting, for another stack that rewrites it from here on.
    ///
    /// It has what the caller and the parts further out have set, without the credentials that belong to another server
    /// than its own, or to a server that a part further in names. Its listeners are those of the call.
    package var forAnotherStack: HTTPRequestData {
        var request = withoutUsers
        for owner in request.credentialServers?.value.credentials ?? [] where !request.goesToServer(of: owner) {
            switch owner {
            case .field(let name): request.headerFields[name] = nil
            case .queryItem(let name): request.query[name] = nil
            case .part: break
            }
        }
        let observers = request.passage?.value.observers.all ?? []
        request.leaveStack()
        request.destination.stage = .open
        for observer in observers {
            request.addObserver(observer)
        }
        return request
    }
}
