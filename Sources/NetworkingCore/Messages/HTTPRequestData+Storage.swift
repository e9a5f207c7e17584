import HTTPTypes

extension HTTPRequestData {
    /// The message, and the values that a stack sets once for each request.
    @usableFromInline
    struct Content: Sendable {
        var id: ID
        var line: Line
        @usableFromInline var headerFields = HeaderFields()
        var body: RequestBody?
        /// The header fields that listeners set for the exchange with which the request was sent.
        var attemptFields: HTTPFields = [:]
        var number: Int?
        var credentialServers: CopyOnWrite<CredentialServers>?
        /// The users for whom the work of the request began.
        var users = NotedUsers()
        @usableFromInline var options: CopyOnWrite<RequestSettings>?
    }

    /// The method, the scheme, the authority and the target.
    // Strings, because reading a pseudo header field of swift-http-types also copies its name, which takes 200
    // instructions.
    struct Line: Sendable, Hashable {
        var method: HTTPRequest.Method
        var scheme: String?
        var authority: String?
        /// An open path is stored as an empty one, so that a query can be set before the path.
        var target: String?
    }

    /// The line of the message; after a change the request has to be checked again.
    var line: Line {
        get { content.value.line }
        _modify {
            state.remove(.isChecked)
            yield &content.value.line
        }
    }

    /// The options; `nil` if none has been set.
    ///
    /// Read single options through this property, so that only the one option is copied.
    @inlinable var box: CopyOnWrite<RequestSettings>? {
        _read { yield content.value.options }
    }

    /// Whether an option has been set, without which each has its default.
    @inlinable package var hasOptions: Bool {
        content.value.options != nil
    }

    /// The options, created when they are first written.
    var settings: RequestSettings {
        _read {
            if content.value.options != nil {
                yield content.value.options!.value
            } else {
                yield RequestSettings.defaults
            }
        }
        _modify {
            if content.value.options == nil {
                content.value.options = CopyOnWrite(RequestSettings())
            }
            yield &content.value.options!.value
        }
    }

    /// Sets the options of a request that has none.
    ///
    /// They are copied when the request changes them.
    mutating func share(_ settings: CopyOnWrite<RequestSettings>) {
        content.value.options = settings
    }
}
