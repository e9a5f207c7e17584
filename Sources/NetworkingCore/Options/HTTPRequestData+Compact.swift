extension HTTPRequestData {
    /// A compact copy for recorders that keep many requests: method, URL, route, number and identifier.
    package var compact: HTTPRequestData {
        var request = HTTPRequestData(naming: self)
        guard let box else { return request }
        let (route, secrets) = (route, box.value.secretQueryItems)
        if !box.value.secretValues.isEmpty { request.settings.secretValues = box.value.secretValues }
        if route != nil { request.route = route }
        if !secrets.isEmpty { request.settings.secretQueryItems = secrets }
        return request
    }

    /// Creates a request that has only the identifier, the number and the line of another request.
    private init(naming other: HTTPRequestData) {
        let content = other.content.value
        self.content = CopyOnWrite(Content(id: content.id, line: content.line, number: content.number))
        state = other.state.subtracting(.isChecked)
        destination = other.destination
    }
}
