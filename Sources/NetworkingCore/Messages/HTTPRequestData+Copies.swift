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
        if other.exchangeNumber != exchangeNumber {
            openPassage.exchangeNumber = other.exchangeNumber
        }
        guard let box = other.box else { return }
        if !box.value.secretQueryItems.isEmpty {
            settings.secretQueryItems.formUnion(box.value.secretQueryItems)
        }
        if !box.value.secretValues.isEmpty {
            settings.secretValues.formUnion(box.value.secretValues)
        }
    }

    /// A copy for work in the background on behalf of the request, which no listener and no limit of the caller
    /// reaches.
    package var inBackground: HTTPRequestData {
        var request = self
        request.passage = passage.map { CopyOnWrite($0.value.inBackground) }
        if box?.value.observers.all.isEmpty == false {
            request.settings.observers = NetworkEventObservers()
        }
        trace?.startNewTrace(&request)
        return request
    }

    /// Returns a copy for an exchange that several callers share and that may outlive the first of them.
    ///
    /// - Parameter recorder: A branch of the first caller's recorder.
    /// - Returns: The copy.
    package func shared(recordingInto recorder: (any CallRecording)?) -> HTTPRequestData {
        var request = self
        request.passage = passage.map { CopyOnWrite($0.value.shared(recordingInto: recorder)) }
        return request
    }

    /// A copy without the state of the stack that can be sent again, for responses, errors and recordings.
    ///
    /// The message stays as it was sent.
    package var outsideStack: HTTPRequestData {
        var request = withoutUsers
        request.leaveStack()
        return request
    }

    /// A copy for the app's code next to the stack, such as a listener or a strategy.
    ///
    /// If it is sent, a new call begins, which takes nothing from the way of this one.
    package var besideStack: HTTPRequestData {
        var request = self
        if isUnderway { request.place = .beside }
        return request
    }

    /// Returns a request in place of this one, on the same way through the stack and for the same users.
    ///
    /// - Parameter other: The request, either changed from ``besideStack`` or a new one.
    /// - Returns: The request that is sent upstream.
    package func replaced(by other: HTTPRequestData) -> HTTPRequestData {
        var other = other
        if other.place == .beside {
            other.place = place
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
