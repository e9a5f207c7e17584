extension HTTPRequestData {
    /// Checks that credentials belong to the user of the request, who was signed in when its work began.
    ///
    /// Call it after the last wait, immediately before the credentials are added.
    ///
    /// - Parameters:
    ///   - principal: The user that the credentials belong to.
    ///   - signIn: The number of the sign-in, as in ``noteUser(_:signIn:of:)``. Equal numbers are the same user.
    ///   - store: The object with the credentials.
    /// - Throws: A ``NetworkingError`` of kind ``NetworkingError/Kind/unauthorized`` with
    ///   ``NetworkingError/isOfAnotherUser`` if they belong to another user.
    public func checkUser(_ principal: Principal, signIn: UInt64? = nil, of store: any AnyObject & Sendable) throws {
        guard content.value.users.admit(principal, signIn, of: store) else { throw isOfAnotherUser }
    }

    /// The error for a request after another user has signed in.
    package var isOfAnotherUser: NetworkingError {
        var error = NetworkingError(
            .unauthorized,
            request: self,
            reason: "Another user has signed in since the call began, so the request was not sent. Start the call "
                + "again if it is also meant for that user."
        )
        error.isOfAnotherUser = true
        return error
    }
}
