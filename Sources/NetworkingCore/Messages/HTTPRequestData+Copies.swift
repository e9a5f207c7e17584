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
        var request = withoutUsers
        request.removeStateOfWay()
        return request
    }

    /// A copy for the app's code next to the stack, such as a listener or a strategy.
    ///
    /// If it is sent, a new call begins, which takes nothing from the way of this one.
    package var besideStack: HTTPRequestData {
        var request = self
        request.state.remove(.isUnderway)
        return request
    }

    /// Returns a request in place of this one, on the same way through the stack and for the same users.
    ///
    /// - Parameter other: The request, either changed from ``besideStack`` or a new one.
    /// - Returns: The request that is sent upstream.
    package func replaced(by other: HTTPRequestData) -> HTTPRequestData {
        var other = other
        if other.state.contains(.hasEntered) {
            other.state.formUnion(state.intersection(.isUnderway))
        } else {
            other.content.value.users = content.value.users
            other.content.value.users.areKept = true
        }
        return other
    }

    /// A copy like ``outsideStack`` without the sink and the progress handler, which a recording would keep alive.
    package var forRecording: HTTPRequestData {
        var request = outsideStack
        if request.sink != nil { request.sink = nil }
        if request.progressHandler != nil { request.progressHandler = nil }
        return request
    }
}

// MARK: - The way through a stack

extension HTTPRequestData {
    /// Removes the state that belongs to one way through a stack: the only list of it.
    ///
    /// The message stays as it was sent.
    mutating func removeStateOfWay() {
        state.subtract([
            .isUnderway, .hasEntered, .hasRedirectsFollowed, .hasSilenceLimited, .isAuthorized, .isMeasured,
            .hasCookiesHandled,
        ])
        recorder = nil
        heldLimits = nil
        exchangeLimit = nil
        if content.value.ownedCredentials != nil {
            content.value.ownedCredentials = nil
        }
        // Field by field, because reading the settings as a whole would copy them.
        if box?.value.stackObservers.all.isEmpty == false {
            settings.stackObservers = NetworkEventObservers()
        }
        if box?.value.trace != nil {
            settings.trace = nil
        }
        if box?.value.custom.hasTemporaryValues == true {
            settings.custom.removeTemporaryValues()
        }
    }
}
