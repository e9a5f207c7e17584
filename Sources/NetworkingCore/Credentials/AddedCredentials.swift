import FoundationForNetworking
import HTTPTypes

extension HTTPResponseData {
    /// Returns whether a part of the stack has added a credential to a request before it was sent.
    ///
    /// A part that shares or stores responses compares requests at its own place. A credential that a part further in
    /// adds is unknown there, unless that part names a principal. Such a response may belong to one user only:
    ///
    /// ```swift
    /// let isForOneUser = response.principal == nil && response.hasCredentials(notIn: request)
    /// ```
    ///
    /// Header fields, query items and options that are credentials count, also of a request that was redirected. A
    /// query item of a redirect's location is not a credential that the stack added.
    ///
    /// - Parameter request: The request, as the part has received it.
    /// - Returns: `true` if the request was sent with a credential that it does not have, or with another value of one.
    public func hasCredentials(notIn request: HTTPRequestData) -> Bool {
        sentRequest.hasCredentials(notIn: request, isFirst: redirects.isEmpty)
            || redirects.enumerated().contains { $1.request.hasCredentials(notIn: request, isFirst: $0 == 0) }
    }
}

extension HTTPRequestData {
    /// Whether the request has credentials that another request does not have.
    fileprivate func hasCredentials(notIn other: HTTPRequestData, isFirst: Bool) -> Bool {
        for field in headerFields where field.isCredential {
            if headerFields[fields: field.name] != other.headerFields[fields: field.name] { return true }
        }
        if isFirst, target != other.target, hasQueryCredentials(notIn: other) { return true }
        return box?.value.custom.hasCredentials(notIn: other.box?.value.custom) == true
    }

    private func hasQueryCredentials(notIn other: HTTPRequestData) -> Bool {
        let marked = box?.value.secretQueryItems ?? []
        let known = Set(other.query.items)
        return query.items.contains { item in
            let isCredential = marked.contains(item.name.lowercased()) || CredentialNames.queryItems.redacts(item.name)
            return isCredential && !known.contains(item)
        }
    }
}
