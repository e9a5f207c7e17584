extension HTTPRequestData {
    /// A copy with a new identifier, as another caller would send it.
    package var withNewID: HTTPRequestData {
        var request = self
        request.content.value.id = ID()
        return request
    }

    /// Replaces the message and the known secrets with those of another request, and keeps the identifier and the
    /// options.
    package mutating func takeMessage(of other: HTTPRequestData) {
        line = other.line
        state.formUnion(other.state.intersection(.hasInvalidSegment))
        headerFields = other.headerFields
        body = other.body
        exchangeNumber = other.exchangeNumber
        guard let box = other.box else { return }
        if !box.value.secretQueryItems.isEmpty {
            settings.secretQueryItems.formUnion(box.value.secretQueryItems)
        }
        if !box.value.secretValues.isEmpty {
            settings.secretValues.formUnion(box.value.secretValues)
        }
    }

    /// A copy without listeners and without the caller's time limits, for background work on behalf of the request.
    package var detached: HTTPRequestData {
        var request = self
        request.recorder = nil
        request.heldLimits = nil
        request.exchangeLimit = nil
        // A timeout further out has ended with the caller's exchange, so the transport must watch for silence itself.
        request.state.subtract([.isMeasured, .hasSilenceLimited])
        if hasObservers {
            request.settings.observers = NetworkEventObservers()
            request.settings.stackObservers = NetworkEventObservers()
        }
        // The stack still traces the request.
        trace?.startNewTrace(&request)
        return request
    }

    /// A copy without the state of the stack that can be sent again, for responses, errors and recordings.
    package var outsideStack: HTTPRequestData {
        var request = self
        request.state.subtract([
            .isUnderway, .hasRedirectsFollowed, .hasSilenceLimited, .isAuthorized, .isMeasured, .hasCookiesHandled,
        ])
        request.recorder = nil
        request.heldLimits = nil
        request.exchangeLimit = nil
        // Field by field, because reading the settings as a whole would copy them.
        if box?.value.stackObservers.all.isEmpty == false {
            request.settings.stackObservers = NetworkEventObservers()
        }
        if box?.value.trace != nil {
            request.settings.trace = nil
        }
        if box?.value.custom.hasTemporaryValues == true {
            request.settings.custom.removeTemporaryValues()
        }
        return request
    }

    /// A copy like ``outsideStack`` without the sink and the progress handler, which a recording would keep alive.
    package var forRecording: HTTPRequestData {
        var request = outsideStack
        if request.sink != nil { request.sink = nil }
        if request.progressHandler != nil { request.progressHandler = nil }
        return request
    }
}
