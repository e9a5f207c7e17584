#if TestServer
public import HTTPTypes

extension TestUploads {
    /// A step of an upload, for which a test queues faults.
    public enum Step: Sendable, Hashable, CaseIterable {
        /// A request for the supported protocols: `OPTIONS`.
        case discovery

        /// The request that creates an upload, or an ordinary request with a body.
        case creation

        /// A request for the offset: `HEAD`.
        case offset

        /// A request that appends bytes: `PATCH`.
        case append

        /// A request that completes the upload: it creates one or appends to one.
        ///
        /// It meets a fault of this step first. Without one, it meets a fault of ``creation`` or ``append``.
        case completion

        /// A request that cancels the upload: `DELETE`.
        case cancellation
    }

    /// A moment of a request at which a fault happens.
    public enum Moment: Sendable, Hashable {
        /// The head has arrived, and the request has had no effect.
        case head

        /// The given number of bytes of the request's body have arrived, or all bytes if there are fewer. The request
        /// is not complete.
        case bytes(Int)

        /// The request was processed, and the response is lost.
        case processing
    }

    /// A fault of the server in one request.
    public struct Fault: Sendable, Hashable {
        enum Kind: Sendable, Hashable {
            case none
            case disconnect(TestResponse.SocketEffect, Moment)
            case status(HTTPResponse.Status, HTTPFields, Moment)
            case slow(byteCount: Int, period: Duration)
            case field(HTTPField.Name, String?)
            case offset(adding: Int64)
            case forget(HTTPResponse.Status)
        }

        let kind: Kind

        /// No fault, to skip a request.
        public static let none = Fault(kind: .none)

        /// Ends the connection.
        ///
        /// - Parameters:
        ///   - effect: The effect on the connection.
        ///   - moment: The moment. After ``Moment/processing``, the response is lost although the bytes are stored.
        /// - Returns: The fault.
        /// - Precondition: The number of bytes is greater than zero.
        public static func disconnect(_ effect: TestResponse.SocketEffect, after moment: Moment) -> Fault {
            Fault(kind: .disconnect(effect, moment.checked))
        }

        /// Responds with a status, such as `503 Service Unavailable`.
        ///
        /// - Parameters:
        ///   - status: The status.
        ///   - fields: The fields, such as `Retry-After`.
        ///   - moment: The moment.
        /// - Returns: The fault.
        /// - Precondition: The number of bytes is greater than zero.
        public static func status(
            _ status: HTTPResponse.Status,
            headerFields fields: HTTPFields = [:],
            after moment: Moment = .head
        ) -> Fault {
            Fault(kind: .status(status, fields, moment.checked))
        }

        /// Receives the body slowly, with a pause on the server's clock after each number of bytes.
        ///
        /// A request without a body gets its response after one pause.
        ///
        /// - Parameters:
        ///   - byteCount: The number of bytes between two pauses.
        ///   - period: The duration of a pause.
        /// - Returns: The fault.
        /// - Precondition: `byteCount` is greater than zero, and `period` is not negative.
        public static func slow(_ byteCount: Int, every period: Duration) -> Fault {
            precondition(byteCount > 0, "byteCount must be greater than zero (is \(byteCount))")
            precondition(period >= .zero, "period must not be negative (is \(period))")
            return Fault(kind: .slow(byteCount: byteCount, period: period))
        }

        /// Sends a wrong `Upload-Offset`, in a response that has one.
        ///
        /// - Parameter difference: The difference to the right offset: negative to go back, positive to go beyond what
        ///   the client has sent.
        /// - Returns: The fault.
        public static func offset(adding difference: Int64) -> Fault {
            Fault(kind: .offset(adding: difference))
        }

        /// Replaces a field of the response, and of the interim response with the location.
        ///
        /// - Parameters:
        ///   - name: The name of the field.
        ///   - value: The value; `nil` removes the field.
        /// - Returns: The fault.
        public static func field(_ name: HTTPField.Name, _ value: String?) -> Fault {
            Fault(kind: .field(name, value))
        }

        /// Sends another `Location`, such as one of another origin.
        ///
        /// - Parameter location: The value of the field.
        /// - Returns: The fault.
        public static func location(_ location: String) -> Fault {
            .field(.location, location)
        }

        /// Forgets the upload before the request, which then gets a status.
        ///
        /// - Parameter status: The status, such as `404 Not Found` or `410 Gone`.
        /// - Returns: The fault.
        public static func forget(_ status: HTTPResponse.Status = .notFound) -> Fault {
            Fault(kind: .forget(status))
        }
    }
}

extension TestUploads.Moment {
    fileprivate var checked: Self {
        if case .bytes(let count) = self {
            precondition(count > 0, "the number of bytes must be greater than zero (is \(count)); use .head before it")
        }
        return self
    }
}

extension TestUploads.Fault {
    /// Returns the response that replaces that of the protocol, if the fault happens at a moment.
    func response(at moment: TestUploads.Moment) -> TestResponse? {
        switch kind {
        // The connection ends at once, in whatever state the body is.
        case .disconnect(let effect, moment): TestResponse.ok.disconnecting(effect, at: .requestHead)
        case .status(let status, let fields, moment): TestResponse(status: status, headerFields: fields)
        default: nil
        }
    }

    /// The number of bytes of the body after which the fault happens.
    var byteCount: Int? {
        switch kind {
        case .disconnect(_, .bytes(let count)), .status(_, _, .bytes(let count)): count
        default: nil
        }
    }

    /// Changes the fields of a response.
    func apply(to fields: inout HTTPFields) {
        switch kind {
        case .field(let name, let value):
            fields[name] = value
        case .offset(adding: let difference):
            guard let offset = fields[UploadField.offset].flatMap({ Int64($0) }) else { return }
            fields[UploadField.offset] = String(offset.addingReportingOverflow(difference).partialValue)
        case .none, .disconnect, .status, .slow, .forget:
            break
        }
    }
}
#endif
