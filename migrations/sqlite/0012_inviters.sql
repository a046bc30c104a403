-- Who invites is a hash from now on, to be counted by.

UPDATE invitations SET inviter = '';
